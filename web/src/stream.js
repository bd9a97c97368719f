// Guards the view against a connection that stalls, repeats or lies: one stream per tab, resumed by cursor, resynced
// once when that is refused, polled when streams do not get through. What is shown as live is live.
import { call, runPath } from "./api.js";
import { recordOf } from "./safe.js";
import { createBatch } from "./stream/batch.js";
import { cursorOf, seqOf } from "./stream/cursor.js";
import { createPoller, POLL } from "./stream/poller.js";
import { listen } from "./stream/source.js";
import { createTimers } from "./stream/timers.js";

export const STREAM = Object.freeze({
  firstFrameMs: 5000,
  silentMs: 30000,
  retryFirstMs: 1000,
  retryMaxMs: 15000,
  failuresBeforePolling: 3,
  newRunMs: 10000,
  newRunRetryMs: 500,
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
  const timers = createTimers(platform);
  const requests = requestsOf(runId, uid);
  const follower = {
    on,
    timers,
    ...requests,
    connect: (after) => new platform.EventSource(runPath(runId, "/stream", uid, { after })),
    batch: createBatch(timers, on.events),
    cursor: "0",
    source: null,
    failures: 0,
    ended: false,
    newUntilMs: isNew ? Date.now() + STREAM.newRunMs : 0,
  };
  follower.poll = createPoller({ ...requests, timers, cursor: () => follower.cursor, hear: fromPages(follower) });
  // Not at once: a subscription that dispatches while hyperapp starts it is started again, and again.
  timers.after(0, () => load(follower));
  watchSilence(follower);
  return { stop: () => stop(follower) };
}

const requestsOf = (runId, uid) => ({
  loadFlow: () => call("GET", runPath(runId, "/flow", uid)),
  loadDetail: () => call("GET", runPath(runId, "", uid)),
  loadPage: (after) => call("GET", runPath(runId, "/events", uid, { after, limit: POLL.pageMaxEvents })),
});

// The whole model, then the stream from there on

async function load(follower) {
  const { on, batch, timers } = follower;
  on.connection({ state: follower.failures === 0 ? "connecting" : "reconnecting" });
  const answer = await follower.loadFlow();
  if (timers.stopped) return;
  if (!answer.ok) return failed(follower, answer.problem);
  const run = recordOf(recordOf(recordOf(answer.data).model).run);
  follower.cursor = cursorOf(run.lastSeq, run.unreadable);
  batch.drop();
  on.flow(answer.data);
  if (follower.ended) return on.connection({ state: "ended" });
  openStream(follower);
}

function failed(follower, problem) {
  const { on, timers } = follower;
  const again = () => load(follower);
  // The api may hear of a Run later than it could answer for having created it: no 404 is final that soon.
  if (problem.status === 404 && Date.now() < follower.newUntilMs) return timers.after(STREAM.newRunRetryMs, again);
  if (problem.status === 401 || problem.status === 403 || problem.status === 404)
    return on.connection({ state: "refused", problem });
  follower.failures += 1;
  on.connection({ state: "lost", problem });
  timers.after(backoffMs(follower), again);
}

const backoffMs = ({ failures }) =>
  Math.min(STREAM.retryMaxMs, STREAM.retryFirstMs * 2 ** Math.max(0, failures - 1));

function ended(follower) {
  close(follower);
  follower.batch.flush();
  follower.ended = true;
  load(follower);
}

// The stream, and whether it gets through

function openStream(follower) {
  close(follower);
  const source = listen(follower.connect(follower.cursor), fromStream(follower));
  follower.source = source;
  // The api begins every stream with a frame: where none comes, something on the way holds them back.
  follower.timers.after(STREAM.firstFrameMs, () => {
    if (follower.source === source && !source.everHeard()) pollInstead(follower);
  });
}

const fromStream = (follower) => ({
  live() {
    follower.failures = 0;
    follower.on.connection({ state: "live" });
  },
  events(values, cursor) {
    if (cursor) follower.cursor = cursor;
    follower.batch.take(values, seqOf(follower.cursor));
  },
  status: follower.on.summary,
  resync() {
    close(follower);
    load(follower);
  },
  end: () => ended(follower),
  failed(gone) {
    follower.failures += 1;
    follower.on.connection({ state: "reconnecting" });
    if (follower.failures >= STREAM.failuresBeforePolling) return pollInstead(follower);
    if (!gone) return;
    close(follower);
    follower.timers.after(backoffMs(follower), () => load(follower));
  },
});

// A connection that a proxy holds open without passing anything on is no connection: ask how far the server is.
function watchSilence(follower) {
  follower.timers.after(STREAM.silentMs, () => {
    watchSilence(follower);
    if (follower.source?.silentFor(STREAM.silentMs)) proveSilence(follower);
  });
}

async function proveSilence(follower) {
  const { source } = follower;
  const answer = await follower.loadDetail();
  if (follower.timers.stopped || !answer.ok || follower.source !== source) return;
  const { summary, lastSeq } = recordOf(answer.data);
  follower.on.summary(recordOf(summary));
  const behind = Number(lastSeq) > seqOf(follower.cursor);
  if (behind && source.silentFor(STREAM.silentMs)) pollInstead(follower);
}

function close(follower) {
  follower.source?.close();
  follower.source = null;
}

function stop(follower) {
  follower.timers.stop();
  close(follower);
}

// Pages, where it does not

function pollInstead(follower) {
  close(follower);
  follower.poll();
}

const fromPages = (follower) => ({
  polling: () => follower.on.connection({ state: "polling" }),
  page(values, cursor) {
    follower.batch.take(values, seqOf(follower.cursor));
    follower.batch.flush();
    follower.cursor = cursor;
  },
  status: follower.on.summary,
  end: () => ended(follower),
  failed: (problem) => failed(follower, problem),
  retry: () => openStream(follower),
});
