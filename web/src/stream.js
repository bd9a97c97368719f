// Guards the view against a connection that stalls, repeats or lies: one stream per tab, resumed by cursor, resynced
// once when that is refused, polled when streams do not get through. What is shown as live is live.
import { call, runPath } from "./api.js";
import { decodeValue } from "./decode.js";
import { listOf, recordOf } from "./safe.js";

export const STREAM = Object.freeze({
  batchMs: 100,
  silentMs: 30000,
  retryFirstMs: 1000,
  retryMaxMs: 15000,
  failuresBeforePolling: 3,
  pollMs: 2500,
  newRunMs: 10000,
  newRunRetryMs: 500,
  queueMaxEvents: 20000,
});

/**
 * A hyperapp subscription on one Run. Props: {runId, uid, isNew, onFlow, onEvents, onSummary, onConnection}, the last
 * four top-level actions; `isNew`: this console has just created the Run. Gives the function that ends it.
 */
export function RunStream(dispatch, props) {
  const on = {
    flow: (flow) => dispatch(props.onFlow, flow),
    events: (events) => dispatch(props.onEvents, events),
    summary: (summary) => dispatch(props.onSummary, summary),
    connection: (connection) => dispatch(props.onConnection, connection),
  };
  const follower = follow(props.runId, props.uid, on, { isNew: props.isNew });
  return follower.stop;
}

/** Follows a Run until it has ended or `stop()` is called. `platform` is injected by tests. */
export function follow(runId, uid, on, { isNew = false, platform = globalThis } = {}) {
  const begun = Date.now();
  const state = {
    stopped: false,
    source: null,
    cursor: "0",
    failures: 0,
    queue: [],
    timers: new Set(),
    heardAt: 0,
    ended: false,
    flushing: false,
    polls: 0,
  };
  const after = (ms, act) => {
    const timer = platform.setTimeout(() => {
      state.timers.delete(timer);
      if (!state.stopped) act();
    }, ms);
    state.timers.add(timer);
  };

  async function load() {
    on.connection({ state: state.failures === 0 ? "connecting" : "reconnecting" });
    const answer = await call("GET", runPath(runId, "/flow", uid));
    if (state.stopped) return;
    if (!answer.ok) return failed(answer.problem);
    const { run } = recordOf(recordOf(answer.data).model);
    state.cursor = `${Number(recordOf(run).lastSeq) || 0}.${Number(recordOf(run).unreadable) || 0}`;
    state.queue.length = 0;
    on.flow(answer.data);
    if (state.ended) return on.connection({ state: "ended" });
    open();
  }

  function open() {
    close();
    const source = new platform.EventSource(runPath(runId, "/stream", uid, { after: state.cursor }));
    state.source = source;
    const heard = (act) => (event) => {
      if (state.source !== source) return;
      state.heardAt = Date.now();
      act(event);
    };
    source.onopen = heard(() => {
      state.failures = 0;
      on.connection({ state: "live" });
    });
    source.addEventListener(
      "events",
      heard((event) => {
        if (event.lastEventId) state.cursor = event.lastEventId;
        take(listOf(parsed(event.data)));
      }),
    );
    source.addEventListener(
      "status",
      heard((event) => on.summary(recordOf(parsed(event.data)))),
    );
    source.addEventListener(
      "resync",
      heard(() => {
        close();
        load();
      }),
    );
    source.addEventListener(
      "end",
      heard(() => {
        close();
        flush();
        state.ended = true;
        load();
      }),
    );
    source.onerror = () => {
      if (state.source !== source) return;
      state.failures += 1;
      on.connection({ state: "reconnecting" });
      if (state.failures >= STREAM.failuresBeforePolling) {
        close();
        poll();
      } else if (source.readyState === 2) {
        close();
        after(backoff(), load);
      }
    };
  }

  function take(values) {
    for (const value of values) state.queue.push(decodeValue(value, Number.parseInt(state.cursor, 10) || 0));
    if (state.queue.length > STREAM.queueMaxEvents) return flush();
    if (state.flushing) return;
    state.flushing = true;
    after(STREAM.batchMs, flush);
  }

  function flush() {
    state.flushing = false;
    if (state.queue.length > 0) on.events(state.queue.splice(0));
  }

  // Streams may be cut by a proxy that buffers; the same cursor works page by page.
  async function poll() {
    on.connection({ state: "polling" });
    const last = Number.parseInt(state.cursor, 10) || 0;
    const [page, detail] = await Promise.all([
      call("GET", runPath(runId, "/events", uid, { after: last, limit: 1000 })),
      call("GET", runPath(runId, "", uid)),
    ]);
    if (state.stopped) return;
    if (!page.ok) return failed(page.problem);
    const events = listOf(page.data.events);
    take(events);
    flush();
    state.cursor = `${Number(page.data.last) || last}.${state.cursor.split(".")[1] ?? 0}`;
    if (detail.ok) on.summary(recordOf(detail.data.summary));
    if (page.data.end === true) {
      state.ended = true;
      return load();
    }
    state.polls += 1;
    if (state.polls % 12 === 0) return open();
    after(events.length >= 1000 ? 0 : STREAM.pollMs, poll);
  }

  // The api may hear of a Run later than it could answer for having created it: no 404 is final that soon.
  const mayAppear = ({ status }) => isNew && status === 404 && Date.now() - begun < STREAM.newRunMs;

  function failed(problem) {
    if (mayAppear(problem)) return after(STREAM.newRunRetryMs, load);
    if (problem.status === 401 || problem.status === 403 || problem.status === 404) {
      on.connection({ state: "refused", problem });
      return;
    }
    state.failures += 1;
    on.connection({ state: "lost", problem });
    after(backoff(), load);
  }

  const backoff = () => Math.min(STREAM.retryMaxMs, STREAM.retryFirstMs * 2 ** Math.max(0, state.failures - 1));

  // A connection that a proxy holds open without passing anything on is no connection: ask how far the server is.
  function watchSilence() {
    after(STREAM.silentMs, async () => {
      watchSilence();
      if (state.source === null || state.ended || Date.now() - state.heardAt < STREAM.silentMs) return;
      const answer = await call("GET", runPath(runId, "", uid));
      if (state.stopped || !answer.ok || state.source === null) return;
      on.summary(recordOf(answer.data.summary));
      if (Number(answer.data.lastSeq) <= (Number.parseInt(state.cursor, 10) || 0)) return;
      close();
      load();
    });
  }

  function close() {
    state.source?.close();
    state.source = null;
  }

  function stop() {
    state.stopped = true;
    close();
    for (const timer of state.timers) platform.clearTimeout(timer);
    state.timers.clear();
  }

  // Not at once: a subscription that dispatches while hyperapp starts it is started again, and again.
  after(0, load);
  watchSilence();
  return { stop };
}

function parsed(data) {
  try {
    return JSON.parse(data);
  } catch {
    return null;
  }
}
