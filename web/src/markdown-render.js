// Guards the main thread: prose is formatted in a Worker with a deadline; until then, and if that fails, it is text.
// A view asks with get(text) and is told through onChange when the answer got better.
import { createTextCache } from "./markdown-cache.js";
import { POLICY } from "./markdown-policy.js";
import { createPool } from "./markdown-pool.js";

export const LIMITS = Object.freeze({
  deadlineMs: 500,
  startMs: 10000,
  cacheMaxEntries: 300,
  cacheMaxChars: 4194304,
  queueMaxJobs: 200,
  workerStartsMax: 50,
});

/**
 * Makes the store of rendered prose. Entries are {state: "pending" | "done" | "fallback", nodes, reason};
 * an entry object is replaced, never changed, so identity tells a view whether to draw again.
 * `startWorker()` may throw; `build(html)` gives {nodes, truncated}; timers are injected for tests.
 */
export function createMarkdownStore({ startWorker, build, onChange, limits = LIMITS, timers = globalThis }) {
  const cache = createTextCache(limits);
  const announce = soonOnce(onChange, timers);
  const pool = createPool({
    start: (hear) => startFormatter({ startWorker, limits, timers }, hear),
    isWanted: (text) => cache.peek(text) === PENDING,
    onAnswer,
    limits,
    timers,
  });

  function get(value) {
    const text = typeof value === "string" ? value : "";
    if (text.length > POLICY.limits.proseMaxChars) return TOO_LONG;
    const found = cache.get(text);
    if (found !== undefined) return found;
    cache.put(text, PENDING);
    const dropped = pool.ask(text);
    if (dropped !== undefined) cache.remove(dropped);
    return PENDING;
  }

  function onAnswer(text, answer) {
    const entry = answer.ok === true ? built(answer.html, build) : fallback(answer.reason);
    if (cache.peek(text) !== undefined) cache.put(text, entry);
    announce();
  }

  return { get, warm: pool.warm, close: pool.close, size: cache.size };
}

const PENDING = Object.freeze({ state: "pending", nodes: null, reason: "" });
const fallback = (reason) => Object.freeze({ state: "fallback", nodes: null, reason: String(reason) });
const TOO_LONG = fallback("too long to format");

function built(html, build) {
  try {
    const { nodes, truncated } = build(html);
    return Object.freeze({ state: "done", nodes, reason: truncated ? "cut: too much markup" : "" });
  } catch {
    return fallback("could not be read");
  }
}

/** `act` in a turn of its own, once for however many calls before it. */
function soonOnce(act, timers) {
  let due = false;
  return () => {
    if (due) return;
    due = true;
    timers.setTimeout(() => {
      due = false;
      act();
    }, 0);
  };
}

/**
 * One Worker, ended when it does not start or answer in time. `text` is what it works on, or null. `hear` gets
 * answered(text, answer), free() when it can take a text, and failed(formatter, reason). Throws what `startWorker` does.
 */
function startFormatter({ startWorker, limits, timers }, hear) {
  const port = startWorker();
  const formatter = { ready: false, text: null, give, stop };
  let [id, timer, stopped] = [0, null, false];
  const within = (ms, reason) => (timer = timers.setTimeout(() => fail(reason), ms));
  within(limits.startMs, "the formatter did not start");

  port.onmessage = ({ data }) => {
    const { text } = formatter;
    if (stopped || (data.ready !== true && (text === null || data.id !== id))) return;
    if (data.ready === true) formatter.ready = true;
    else {
      formatter.text = null;
      hear.answered(text, data);
    }
    timers.clearTimeout(timer);
    hear.free();
  };
  port.onerror = (event) => {
    event.preventDefault?.();
    fail("the formatter failed");
  };

  function give(text) {
    id += 1;
    formatter.text = text;
    within(limits.deadlineMs, "took too long to format");
    port.postMessage({ id, text });
  }

  function fail(reason) {
    if (stopped) return;
    stop();
    hear.failed(formatter, reason);
  }

  function stop() {
    stopped = true;
    timers.clearTimeout(timer);
    port.terminate();
  }

  return formatter;
}
