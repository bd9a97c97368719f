// What can happen: each action is (state, payload) -> state or [state, ...effects], never undefined; no I/O, no clock.
// The state is made anew but for what grows with the run or marks a request on its way, which is changed in place:
// `run.model` (`run.version` tells of it), `modal.sheet.starts`, `events.loading` and `ops`.
export * from "./actions/route.js";
export * from "./actions/session.js";
export * from "./actions/run.js";
export * from "./actions/replay.js";
export * from "./actions/inspect.js";
export * from "./actions/steps.js";
export * from "./actions/events.js";
export * from "./actions/changes.js";
export * from "./actions/acts.js";
export * from "./actions/people.js";
export * from "./actions/history.js";
export * from "./actions/compose.js";
export * from "./actions/keys.js";
export * from "./actions/notify.js";
