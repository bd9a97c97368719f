// The fixture runs: their events and their summaries, moved to the time that is now.
import { approvingRun, askingRun, failedRun, goodRun, longRun, TASK, UID } from "./frames.js";

const STAMPED = Date.parse("2026-01-05T14:02:40Z");

const summaryOf = (name, uid, fields) => ({
  id: `demo.${name}`,
  uid,
  namespace: "demo",
  name,
  label: name,
  phase: "Running",
  guild: "repair",
  task: TASK,
  createdAt: "2026-01-05T14:01:52Z",
  startedAt: "2026-01-05T14:02:00Z",
  awaiting: 0,
  live: true,
  ...fields,
});

/** Every fixture run by id, as {events, summary}, beginning at `nowMs`; and `moved`, which moves a stamp as they were. */
export function fixtureRuns(nowMs, longCount) {
  const runs = new Map();
  const shift = nowMs - STAMPED;
  const moved = (stamp) => (stamp ? new Date(Date.parse(stamp) + shift).toISOString() : stamp);
  const put = (name, uid, events, fields) => {
    const base = summaryOf(name, uid, fields);
    for (const field of ["createdAt", "startedAt", "endedAt"]) if (base[field]) base[field] = moved(base[field]);
    runs.set(`demo.${name}`, { events: events.map((event) => ({ ...event, ts: moved(event.ts) })), summary: base });
  };
  put("fix-slug", UID, goodRun(UID), {});
  put("ask-first", "uid-ask", askingRun("uid-ask"), {
    phase: "AwaitingHuman",
    awaiting: 1,
    summary: "Wants to know about the public signature",
  });
  put("wants-approval", "uid-approve", approvingRun("uid-approve"), {
    phase: "AwaitingHuman",
    awaiting: 1,
    summary: "Wants to deploy to staging",
  });
  put("provider-gone", "uid-failed", failedRun("uid-failed"), {
    phase: "Failed",
    reason: "ProviderFailed",
    message: "The provider answered 503 four times.",
    endedAt: "2026-01-05T14:03:10Z",
    usage: { calls: 2, tokens: 7010, cachedPromptTokens: 2900, outputTokens: 204, costMicroUSD: 18500 },
  });
  put("waiting", "uid-wait", [], {
    phase: "Queued",
    reason: "ConcurrencyLimit",
    message: "Two runs are going in demo; this is first in line.",
    startedAt: undefined,
  });
  put("not-shut-in", "uid-open", [], {
    phase: "Failed",
    reason: "IsolationNotEnforced",
    message:
      "The canary at the gateway's port 8444 answered: this cluster does not enforce network policies. Install an enforcing network plugin.",
    startedAt: undefined,
    endedAt: "2026-01-05T13:00:10Z",
  });
  put("yesterday", "uid-old", goodRun("uid-old"), {
    phase: "Succeeded",
    reason: "Completed",
    live: false,
    summary: "slug() now cuts at the limit; suite green (10 passed)",
    createdAt: "2026-01-04T09:11:00Z",
    startedAt: "2026-01-05T14:02:00Z",
    endedAt: "2026-01-05T14:02:51Z",
    usage: { calls: 8, tokens: 21730, cachedPromptTokens: 10700, outputTokens: 668, costMicroUSD: 49000 },
    changes: { files: 3, added: 7, removed: 4 },
  });
  if (longCount > 0) put("long", "uid-long", longRun(longCount, "uid-long"), { summary: "A long run" });
  return { runs, moved };
}
