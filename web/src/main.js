// Wires state, actions, effects and views together; the only module with effects at import.
import { app } from "./h.js";
import {
  ConnectionChanged,
  EventsArrived,
  FlowArrived,
  HashChanged,
  KeyPressed,
  LoadRuns,
  ProseChanged,
  Start,
  SummaryArrived,
  Tick,
  WideChanged,
} from "./actions.js";
import { Every, HashChanges, Keys, setTheme, Wide } from "./effects.js";
import { createMarkdownStore } from "./markdown-render.js";
import { sanitize } from "./markdown.js";
import { notifyState } from "./notify.js";
import { initialState, isOver } from "./state.js";
import { RunStream } from "./stream.js";
import { parseInertBody, startMarkdownWorker } from "./trusted-types.js";
import { createView } from "./view.js";

function chosenTheme() {
  try {
    const kept = localStorage.getItem("guildhall-theme");
    if (kept === "light" || kept === "dark") return kept;
  } catch {
    // Private windows refuse storage.
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

let announce = () => {};
const store = createMarkdownStore({
  startWorker: startMarkdownWorker,
  build: (html) => sanitize(parseInertBody(html)),
  onChange: () => announce(),
});

function ProseReady(dispatch) {
  announce = () => dispatch(ProseChanged);
  return () => {
    announce = () => {};
  };
}

// Positions are fixed: an entry that comes and goes leaves its place, so no other subscription restarts.
const subscriptions = (state) => [
  [ProseReady, {}],
  [HashChanges, { action: HashChanged }],
  [Keys, { action: KeyPressed }],
  [Wide, { action: WideChanged }],
  state.session.status === "in" && [Every, { ms: 5000, action: LoadRuns }],
  state.session.status === "in" &&
    state.route.screen === "watch" &&
    !isOver(state) && [Every, { ms: 1000, action: Tick }],
  state.session.status === "in" &&
    state.route.screen === "watch" &&
    state.route.runId !== "" && [
      RunStream,
      {
        runId: state.route.runId,
        uid: state.route.uid,
        isNew: state.created === state.route.runId,
        onFlow: FlowArrived,
        onEvents: EventsArrived,
        onSummary: SummaryArrived,
        onConnection: ConnectionChanged,
      },
    ],
];

store.warm();
const theme = chosenTheme();
const state = initialState({
  hash: location.hash,
  theme,
  nowMs: Date.now(),
  notify: notifyState(),
  wide: matchMedia("(min-width: 761px)").matches,
});
app({
  init: [...Start(state), setTheme(theme)],
  view: createView(store),
  node: document.getElementById("app"),
  subscriptions,
});
document.documentElement.dataset.started = ""; // boot.js waits for it
