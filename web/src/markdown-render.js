// Guards the main thread: prose is formatted in a Worker with a deadline; until then, and if that fails, it is text.
// A view asks with get(text) and is told through onChange when the answer got better.
import { POLICY } from "./markdown-policy.js";

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
  const cache = new Map();
  let cachedChars = 0;
  const queue = [];
  let nextId = 1;
  let workers = [];
  let starts = 0;
  let announced = false;

  function get(value) {
    const text = typeof value === "string" ? value : "";
    if (text.length > POLICY.limits.proseMaxChars) return TOO_LONG;
    const found = cache.get(text);
    if (found !== undefined) {
      cache.delete(text);
      cache.set(text, found);
      return found;
    }
    const entry = put(text, PENDING);
    queue.push(text);
    if (queue.length > limits.queueMaxJobs) remove(queue.shift());
    timers.setTimeout(pump, 0);
    return entry;
  }

  function put(text, entry) {
    remove(text);
    cache.set(text, entry);
    cachedChars += text.length;
    for (const oldest of cache.keys()) {
      if (oldest === text) break;
      if (cache.size <= limits.cacheMaxEntries && cachedChars <= limits.cacheMaxChars) break;
      remove(oldest);
    }
    return entry;
  }

  function remove(text) {
    if (cache.delete(text)) cachedChars -= text.length;
  }

  function settle(text, entry) {
    if (cache.has(text)) put(text, entry);
    if (announced) return;
    announced = true;
    timers.setTimeout(() => {
      announced = false;
      onChange();
    }, 0);
  }

  // Two workers: one works, one is warm, so that ending a late one costs the next field nothing.
  function pump() {
    while (workers.length < 2 && queue.length > 0 && starts < limits.workerStartsMax) {
      if (!addWorker()) break;
    }
    if (workers.length === 0) {
      while (queue.length > 0) settle(queue.shift(), fallback("the formatter is not available"));
      return;
    }
    if (workers.some((worker) => worker.job !== null)) return;
    const idle = workers.find((worker) => worker.ready);
    if (idle === undefined) return;
    while (queue.length > 0) {
      const text = queue.shift();
      if (cache.get(text) !== PENDING) continue;
      give(idle, text);
      return;
    }
  }

  function addWorker() {
    starts += 1;
    const worker = { port: null, ready: false, job: null, timer: null };
    try {
      worker.port = startWorker();
    } catch {
      return false;
    }
    worker.port.onmessage = ({ data }) => onMessage(worker, data);
    worker.port.onerror = (event) => {
      event.preventDefault?.();
      end(worker, "the formatter failed");
    };
    worker.timer = timers.setTimeout(() => end(worker, "the formatter did not start"), limits.startMs);
    workers.push(worker);
    return true;
  }

  /** Loads the first worker before any prose has come: while a person signs in, nothing waits for it. */
  function warm() {
    if (starts === 0) addWorker();
  }

  function give(worker, text) {
    worker.job = { id: nextId, text };
    nextId += 1;
    worker.timer = timers.setTimeout(() => end(worker, "took too long to format"), limits.deadlineMs);
    worker.port.postMessage({ id: worker.job.id, text });
  }

  function end(worker, reason) {
    timers.clearTimeout(worker.timer);
    worker.port.terminate();
    workers = workers.filter((other) => other !== worker);
    if (worker.job !== null) settle(worker.job.text, fallback(reason));
    pump();
  }

  function onMessage(worker, data) {
    if (!workers.includes(worker)) return;
    if (data.ready === true) worker.ready = true;
    else if (worker.job === null || data.id !== worker.job.id) return;
    else {
      const { text } = worker.job;
      worker.job = null;
      settle(text, data.ok === true ? built(data.html) : fallback(data.reason));
    }
    timers.clearTimeout(worker.timer);
    pump();
  }

  function built(html) {
    try {
      const { nodes, truncated } = build(html);
      return Object.freeze({ state: "done", nodes, reason: truncated ? "cut: too much markup" : "" });
    } catch {
      return fallback("could not be read");
    }
  }

  function close() {
    for (const worker of workers) {
      timers.clearTimeout(worker.timer);
      worker.port.terminate();
    }
    workers = [];
    queue.length = 0;
  }

  return { get, warm, close, size: () => cache.size };
}

const PENDING = Object.freeze({ state: "pending", nodes: null, reason: "" });
const fallback = (reason) => Object.freeze({ state: "fallback", nodes: null, reason: String(reason) });
const TOO_LONG = fallback("too long to format");
