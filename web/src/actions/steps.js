// The list of steps: scrolling, following, filtering, stepping, and seeking in time.
import { activityRows, parseFilter } from "../derive/activity.js";
import { scrollTo } from "../effects.js";
import { numberOr } from "../safe.js";
import { shownModel } from "../state.js";
import { Go } from "./route.js";

export const ROW_PX = 34;

const lastRows = { key: "", model: null, rows: null };

/** The rows of the list; worked out once per version of the model and filter, however often it is asked. */
export function rowsOf(state) {
  const model = shownModel(state);
  const key = JSON.stringify([state.run.version, state.route.at, state.route.q, state.route.only]);
  if (lastRows.model !== model || lastRows.key !== key) {
    Object.assign(lastRows, {
      key,
      model,
      rows: activityRows(model, parseFilter(state.route.q), state.labels, { only: state.route.only }),
    });
  }
  return lastRows.rows;
}

export function ListScrolled(state, { top, height, full }) {
  const follow = top + height >= full - 4;
  return {
    ...state,
    list: {
      ...state.list,
      top,
      height,
      follow,
      seen: follow ? shownModel(state).list.length : state.list.seen || shownModel(state).list.length,
    },
  };
}

export const FollowList = (state) => {
  const next = { ...state, list: { ...state.list, follow: true, seen: 0 } };
  return [next, ...followEffects(next)];
};

export function followEffects(state) {
  if (!state.list.follow || state.route.at !== null) return [];
  return [scrollTo(".activity-scroll", rowsOf(state).rows.length * ROW_PX)];
}

export function SetFilter(state, q) {
  return Go({ ...state, list: { ...state.list, top: 0 } }, { q });
}
export const ToggleOnly = (state) => Go(state, { only: !state.route.only });

export function step(state, by) {
  const { rows } = rowsOf(state);
  const hits = rows.filter((row) => row.hit);
  if (hits.length === 0) return state;
  const at = hits.findIndex((row) => row.operation.id === state.route.op);
  const to = at < 0 ? (by > 0 ? 0 : hits.length - 1) : Math.min(hits.length - 1, Math.max(0, at + by));
  return reveal(Go({ ...state, list: { ...state.list, follow: false } }, { op: hits[to].operation.id }), rows);
}

// Keeps the chosen row in the window of the list.
export function reveal([state, ...effects], rows) {
  const index = rows.findIndex((row) => row.operation.id === state.route.op);
  const { top, height } = state.list;
  const [from, to] = [index * ROW_PX, (index + 1) * ROW_PX];
  if (index < 0 || (from >= top && to <= top + height)) return [state, ...effects];
  const wanted = from < top ? from : to - height;
  return [{ ...state, list: { ...state.list, top: wanted } }, ...effects, scrollTo(".activity-scroll", wanted)];
}

export const TIMELINE_MAX_STEPS = 500;

/** Shows the steps that end at `to`; null follows the newest. */
export const MoveTimeline = (state, to) => {
  const total = shownModel(state).list.length;
  return { ...state, timeline: { to: Number.isSafeInteger(to) && to < total ? to : null } };
};

export const StageScrolled = (state, { top, height }) => ({ ...state, stageScroll: { top, height } });

/** Shows the run as it was after event `at`; at the newest, live again. */
export const SeekTo = (state, at) => {
  const last = state.run.model.run.lastSeq;
  const wanted = numberOr(Number(at)) ?? last;
  return Go(state, { at: wanted >= last ? null : Math.max(1, Math.floor(wanted)) });
};
