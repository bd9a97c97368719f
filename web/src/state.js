// The whole state of the console as plain data, and the questions views ask of it. No I/O, no clock.
import { createLabels } from "./labels.js";
import { declare } from "./fold.js";
import { guildModel, newModel } from "./model.js";
import { listOf } from "./safe.js";
import { parseRoute } from "./router.js";

/** The state before anything has arrived. `env` gives {hash, theme, nowMs, wide, notify}. Pure. */
export function initialState(env) {
  return {
    route: parseRoute(env.hash),
    nowMs: env.nowMs,
    theme: env.theme,
    notify: env.notify ?? { on: false, permission: "unsupported" },
    wide: env.wide,
    session: { status: "unknown", user: "", error: "", busy: false },
    ...nobodys(0),
    run: noRun(),
    stage: { tooltip: null, token: 0, pinned: null },
    list: { top: 0, height: 240, follow: true, seen: 0 },
    events: noEvents(),
    timeline: { to: null },
    changes: { status: "idle", view: null, problem: null, sha: "" },
    ops: new Map(),
    asks: noAsks(),
    sent: [],
    inquiries: [],
    modal: null,
    toast: null,
    planOpen: false,
    proseVersion: 0,
  };
}

/** What is kept for the one person who is signed in: nothing yet. `sitting` tells which answers are for them. */
export const nobodys = (sitting) => ({
  sitting,
  person: "",
  config: null,
  labels: createLabels(null, null),
  runs: noRuns(),
  history: { status: "idle", items: [], next: "", problem: null, open: "", details: {} },
  compose: emptyForm(),
  created: "",
});

/**
 * No list of Runs yet. `listed`: one has come; `asked` numbers the requests and `taken` the newest that came; `fresher`
 * gives for a uid the last request that was made before the stream told of that Run.
 */
const noRuns = () => ({
  status: "idle",
  listed: false,
  items: [],
  next: "",
  problem: null,
  asked: 0,
  taken: 0,
  fresher: new Map(),
});

/** Nothing is known of what waits for a person in the watched Run. */
export const noAsks = () => ({ status: "idle", questions: [], approvals: [], problem: null, loading: 0, again: false });

/** No page of the raw stream is known yet; `rows` are the unreadable lines between the events. */
export const noEvents = () => ({ top: 0, height: 600, pages: new Map(), loading: new Set(), rows: [], version: 0 });

/** A Run of which nothing is known yet. */
export const noRun = () => ({
  id: "",
  uid: "",
  model: newModel(),
  version: 0,
  ledger: null,
  summary: null,
  detail: null,
  connection: { state: "idle" },
  replay: null,
  resultSeen: false,
});

/** The Run a request is about, and whether that is still the one that is watched when the answer comes. */
export const watchedRun = ({ route: { runId, uid } }) => ({ runId, uid });
export const isWatched = ({ route }, about) => about?.runId === route.runId && about.uid === route.uid;

/** What is kept of the watched Run, when another is chosen. */
export const freshRun = () => ({
  run: noRun(),
  ops: new Map(),
  changes: { status: "idle", view: null, problem: null, sha: "" },
  asks: noAsks(),
  sent: [],
  inquiries: [],
  modal: null,
  planOpen: false,
  events: noEvents(),
  timeline: { to: null },
  list: { top: 0, height: 240, follow: true, seen: 0 },
  stage: { tooltip: null, token: 0, pinned: null },
});

/** What a Run that is started again had and the form does not show. `guild` is one written into the Run itself. */
export const noRest = () => ({ guild: null, spec: {}, workspace: {}, git: {}, claim: {} });

export const emptyForm = () => ({
  namespace: "",
  guild: "",
  name: "",
  task: "",
  source: "none",
  gitUrl: "",
  gitRef: "",
  gitSecret: "",
  claim: "",
  template: "",
  configMap: "",
  key: "workspace.tar.gz",
  strip: "",
  image: "",
  dollars: "",
  tokens: "",
  steps: "",
  minutes: "",
  mode: "interactive",
  private: false,
  deliver: "patch",
  rest: noRest(),
  showProblems: false,
  busy: "",
  problem: null,
  dry: null,
});

/** The model to draw: the replayed one while `at` is set, else the live one. */
export const shownModel = (state) => (state.run.replay?.model ? state.run.replay.model : state.run.model);

const previews = new WeakMap();

/** What the graph draws: the model, or the Guild the Run names while it has not declared its own. */
export function drawnModel(state) {
  const model = shownModel(state);
  if (model.participants.size > 0) return model;
  const { summary, detail } = state.run;
  const guild = detail?.spec?.guild
    ? { spec: detail.spec.guild }
    : listOf(state.config?.guilds).find((one) => one?.name === summary?.guild && one?.namespace === summary?.namespace);
  if (!guild?.spec) return model;
  if (!previews.has(guild.spec)) {
    const preview = guildModel(guild.spec, guild.roles);
    declare(preview, preview.run.roles);
    previews.set(guild.spec, preview);
  }
  return previews.get(guild.spec);
}

/** Whether a person at this console may do `act` on the Run. */
export const may = (state, act) => (state.run.detail?.may ?? []).includes(act) && !isOver(state);

export const isOver = (state) =>
  ["succeeded", "failed", "cancelled"].includes(state.run.model.run.status) ||
  ["Succeeded", "Failed", "Cancelled"].includes(state.run.summary?.phase);

/** How many questions and approvals wait for a person, in all Runs of the list. */
export const needingHelp = (state) => state.runs.items.reduce((sum, run) => sum + Math.max(0, run.awaiting), 0);
