// The doers: everything the console does to the world outside its state, as hyperapp effects and subscriptions.
import { call, runPath } from "./api.js";
import { decodeValue } from "./decode.js";
import { fold } from "./fold.js";
import { newModel } from "./model.js";
import { listOf } from "./safe.js";

/** Calls the api and dispatches `then` with {ok, data | problem, status, tag}. */
export const request = (method, path, then, { body, tag } = {}) => [
  async (dispatch, props) => {
    const answer = await call(props.method, props.path, props.body);
    dispatch(props.then, { ...answer, tag: props.tag });
  },
  { method, path, then, body, tag },
];

/** Writes the address; `replace` adds no entry to the browser's history. */
export const writeHash = (hash, replace) => [
  (_, props) => {
    if (location.hash === props.hash) return;
    if (props.replace) history.replaceState(null, "", props.hash);
    else history.pushState(null, "", props.hash);
  },
  { hash, replace },
];

/** Dispatches `action` with `payload` after `ms`. */
export const later = (ms, action, payload) => [
  (dispatch, props) => setTimeout(() => dispatch(props.action, props.payload), props.ms),
  { ms, action, payload },
];

/** Puts the focus on what the first selector that finds something finds, once it is drawn. */
export const focus = (...selectors) => [
  (_, props) =>
    requestAnimationFrame(() =>
      requestAnimationFrame(() =>
        props.selectors
          .map((one) => document.querySelector(one))
          .find((element) => element !== null)
          ?.focus(),
      ),
    ),
  { selectors },
];

/** Scrolls an element to a position, once it is drawn. */
export const scrollTo = (selector, top) => [
  (_, props) =>
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        const element = document.querySelector(props.selector);
        if (element) element.scrollTop = props.top;
      }),
    ),
  { selector, top },
];

/** Dispatches `action` with a key that no other act has. */
export const uniqueKey = (action) => [
  (dispatch, props) =>
    dispatch(
      props.action,
      [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join(""),
    ),
  { action },
];

/** Copies text and dispatches `then` with true or false. */
export const copy = (text, then) => [
  async (dispatch, props) => {
    const done = await (navigator.clipboard?.writeText(props.text) ?? Promise.reject()).then(
      () => true,
      () => false,
    );
    dispatch(props.then, done);
  },
  { text, then },
];

/** Remembers the theme and sets it on the page. Storage may be closed to us; the page works without. */
export const setTheme = (theme) => [
  (_, props) => {
    document.documentElement.dataset.theme = props.theme;
    for (const name of ["light", "dark"]) {
      const sheet = document.getElementById(`highlight-${name}`);
      if (sheet) sheet.disabled = name !== props.theme;
    }
    try {
      localStorage.setItem("guildhall-theme", props.theme);
    } catch {
      // Private windows refuse storage.
    }
  },
  { theme },
];

/** Title and icon say what waits, from explicit server states only. */
export const setBadge = (title, alert) => [
  (_, props) => {
    if (document.title !== props.title) document.title = props.title;
    const icon = document.querySelector("link[rel=icon]");
    const href = props.alert ? "icons/alert.svg" : "icons/guildhall.svg";
    if (icon && icon.getAttribute("href") !== href) icon.setAttribute("href", href);
  },
  { title, alert },
];

/** Saves the patch under a name of ours: the bytes come from the api's own download route. */
export const download = (path) => [
  (_, props) => {
    const link = document.createElement("a");
    link.href = props.path;
    link.download = "";
    link.click();
  },
  { path },
];

const REPLAY_MAX_EVENTS = 100000;

/** Reads all events up to the end, page by page. Dispatches `then` with {run} and {events, complete} or {problem}. */
export const loadAllEvents = (run, then) => [
  async (dispatch, props) => {
    const { runId, uid } = props.run;
    const events = [];
    for (let after = 0; events.length < REPLAY_MAX_EVENTS;) {
      const answer = await call("GET", runPath(runId, "/events", uid, { after, limit: 1000 }));
      if (!answer.ok) return dispatch(props.then, { problem: answer.problem, run: props.run });
      const page = listOf(answer.data.events).map((value) => decodeValue(value, after));
      events.push(...page.filter((event) => event.type !== "unreadable"));
      if (page.length === 0 || !(answer.data.last > after)) break;
      after = answer.data.last;
    }
    dispatch(props.then, { events, complete: events.length < REPLAY_MAX_EVENTS, run: props.run });
  },
  { run, then },
];

/** The model as it was after event `at`. */
export function modelAt(events, at) {
  const model = newModel();
  for (const event of events) {
    if (event.seq > at) break;
    fold(model, event);
  }
  return model;
}

// Subscriptions

export function HashChanges(dispatch, { action }) {
  const listener = () => dispatch(action, location.hash);
  addEventListener("hashchange", listener);
  addEventListener("popstate", listener);
  return () => {
    removeEventListener("hashchange", listener);
    removeEventListener("popstate", listener);
  };
}

export function Every(dispatch, { ms, action }) {
  const timer = setInterval(() => dispatch(action, Date.now()), ms);
  return () => clearInterval(timer);
}

export function Keys(dispatch, { action }) {
  const listener = (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const typing =
      event.target.closest?.("input, textarea, select, [contenteditable]") !== null && event.target !== document.body;
    if (typing && event.key !== "Escape") return;
    if (event.key === "/") event.preventDefault();
    dispatch(action, event.key);
  };
  document.addEventListener("keydown", listener);
  return () => document.removeEventListener("keydown", listener);
}

/** Whether the window is wide, now and whenever that changes. */
export function Wide(dispatch, { action }) {
  const query = matchMedia("(min-width: 761px)");
  const listener = () => dispatch(action, query.matches);
  query.addEventListener("change", listener);
  return () => query.removeEventListener("change", listener);
}
