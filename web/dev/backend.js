// A small api over fixture frames: the same answers in the development page and behind the tests' server.
import { close, foldAll } from "../src/fold.js";
import { modelToWire } from "../src/model.js";
import { CONFIG } from "./config.js";
import { PATCH, TASK, UID } from "./frames.js";
import { createWaiting, peopleRoutes } from "./people.js";
import { fixtureRuns } from "./runs.js";

const ARCHIVE = { archive: { configMap: "textkit", key: "workspace.tar.gz" } };
const GIT = {
  git: { url: "https://git.example/textkit.git", ref: "main", depth: 50, secretRef: { name: "textkit-read" } },
  storage: { size: "2Gi", ephemeral: true },
};

/** The spec of a fixture. Yesterday's came from git, with fields that Compose has none for. */
const specOf = (id) => ({
  guildRef: { name: "repair" },
  task: TASK,
  ...(id === "demo.yesterday"
    ? { workspace: GIT, deliver: "branch", env: { CI: "1" }, resources: { memory: "2Gi" } }
    : { workspace: ARCHIVE }),
});

/**
 * A backend with runs on fixture frames. `handle(method, url, body)` gives {status, json | text}; `subscribe(id, after, send)`
 * plays a run's stream. `live: {upTo}` shows only the first events of the live run until `advance()` is called.
 */
export function createBackend({
  upTo = 34,
  signedIn = true,
  longCount = 0,
  nowMs = Date.parse("2026-01-05T14:02:40Z"),
} = {}) {
  const state = { signedIn, acts: [], upTo, cancelled: false, listeners: new Set(), failStream: 0, later: [] };
  const { runs, moved } = fixtureRuns(nowMs, longCount);
  const waiting = createWaiting(nowMs);
  const people = peopleRoutes(waiting, state, (id, fields) => {
    const { events } = runs.get(id);
    const last = events[events.length - 1];
    const asked = events.findLast((event) => event.type === "question.asked" || event.type === "approval.requested");
    const { v, run, attempt } = last;
    const next = { v, run, attempt, seq: last.seq + 1, ts: new Date(Date.parse(last.ts) + 900).toISOString() };
    runs.get(id).summary = { ...runs.get(id).summary, awaiting: 0, phase: "Running" };
    state.later.push(() => append(id, [{ ...next, op: asked.op, role: asked.role, ...fields }]));
    if (!state.holdActs) setTimeout(releaseActs, 250);
  });

  /** Lets the events happen that acts have caused. */
  function releaseActs() {
    for (const happen of state.later.splice(0)) happen();
  }

  const visible = (id) => {
    const run = runs.get(id);
    return id === "demo.fix-slug" ? run.events.slice(0, state.upTo) : run.events;
  };

  function modelOf(id) {
    const model = foldAll(structuredClone(visible(id)));
    const { summary } = runs.get(id);
    if (["Failed", "Cancelled"].includes(summary.phase))
      close(model, summary.endedAt ?? "2026-01-05T14:03:00.000Z", summary.phase.toLowerCase());
    return modelToWire(model);
  }

  function summary(id) {
    const { summary: base } = runs.get(id);
    if (id !== "demo.fix-slug") return base;
    const whole = state.upTo >= runs.get(id).events.length;
    if (state.cancelled)
      return { ...base, phase: "Cancelled", reason: "Cancelled", endedAt: moved("2026-01-05T14:02:40Z") };
    return whole
      ? {
          ...base,
          phase: "Succeeded",
          reason: "Completed",
          endedAt: moved("2026-01-05T14:02:51Z"),
          summary: "slug() now cuts at the limit; suite green (10 passed)",
          changes: { files: 3, added: 7, removed: 4 },
        }
      : base;
  }

  function ledger(model) {
    const { metrics, scripted } = model.run;
    return {
      totals: {
        calls: 1,
        tokens: metrics.tokens,
        cachedPromptTokens: metrics.cachedPromptTokens,
        outputTokens: metrics.outputTokens,
        costMicroUSD: metrics.costMicroUSD,
      },
      calls: [],
      scripted,
    };
  }

  const problem = (status, title, detail = "") => ({ status, json: { type: "about:blank", title, status, detail } });

  function handle(method, url, body) {
    const { pathname, searchParams } = new URL(url, "http://fixture");
    if (pathname === "/api/session") return session(method, body);
    if (!state.signedIn) return problem(401, "Not signed in");
    if (pathname === "/api/config") return { status: 200, json: CONFIG };
    if (pathname === "/api/runs") return method === "GET" ? list(searchParams) : create(body, searchParams);
    const asked = people(method, pathname, searchParams, body);
    if (asked !== null) return asked;
    const [, , , rawId = "", first = "", op = "", last = ""] = pathname.split("/");
    const rest = last || first;
    const id = decodeURIComponent(rawId);
    if (!runs.has(id)) return problem(404, "No such run", `There is no run ${id}.`);
    return runRoute(method, id, rest, op, searchParams, body);
  }

  function session(method, body) {
    if (method === "DELETE") {
      state.signedIn = false;
      return { status: 204 };
    }
    if (method === "POST") {
      if (body?.token !== "good-token") return problem(401, "Not signed in", "The cluster did not accept the token.");
      state.signedIn = true;
    }
    return state.signedIn ? { status: 200, json: { user: CONFIG.user } } : problem(401, "Not signed in");
  }

  function list(params) {
    const q = (params.get("q") ?? "").toLowerCase();
    const all = [...runs.keys()]
      .map(summary)
      .filter((run) => `${run.label} ${run.summary ?? ""} ${run.task}`.toLowerCase().includes(q));
    return { status: 200, json: { runs: [...all, ...(state.former ?? [])] } };
  }

  function create(body, params) {
    if (!body?.spec?.task) return problem(422, "The run breaks the contract", "spec.task: a task is needed");
    if (body.name === "taken")
      return problem(409, "The name is taken", "A run named taken exists in demo; choose another name.");
    state.acts.push({ create: body, dryRun: params.get("dryRun") === "true" });
    const json = {
      id: "demo.fix-slug",
      uid: UID,
      manifest: `apiVersion: guildhall.dev/v1alpha1\nkind: Run\n# defaulted by the cluster\nspec:\n  task: ${JSON.stringify(body.spec.task)}\n`,
      warnings: [],
    };
    return { status: params.get("dryRun") === "true" ? 200 : 201, json };
  }

  function runRoute(method, id, rest, op, params, body) {
    const events = visible(id);
    if (method === "POST") return act(id, rest, body);
    switch (rest) {
      case "":
        return {
          status: 200,
          json: {
            summary: summary(id),
            spec: specOf(id),
            conditions: [],
            lastSeq: events.length,
            sealed: false,
            may: ["cancel", "interrupt", "answer", "approve"],
          },
        };
      case "flow": {
        const model = modelOf(id);
        return {
          status: 200,
          json: { model, ledger: model.run.scripted ? ledger(model) : undefined, summary: summary(id) },
        };
      }
      case "events": {
        const after = Number(params.get("after") ?? 0);
        const page = events.filter((event) => event.seq > after).slice(0, Number(params.get("limit") ?? 100));
        const last = page.at(-1)?.seq ?? after;
        return {
          status: 200,
          json: { events: page, unreadable: [], last, end: last >= events.length && summary(id).phase !== "Running" },
        };
      }
      case "operations":
        return {
          status: 200,
          json: { events: events.filter((event) => event.op === op), unreadable: [], last: events.length, end: true },
        };
      case "changes":
        return {
          status: 200,
          json: events.some((event) => event.type === "changes.updated")
            ? {
                patchSHA256: "9".repeat(64),
                patch: PATCH,
                files: events.findLast((event) => event.type === "changes.updated").files,
                omitted: [],
                message: "",
              }
            : { files: [], omitted: [], message: "" },
        };
      case "report":
        return { status: 200, text: "<!doctype html>", headers: { "Content-Disposition": "attachment; filename=run.html" } };
      case "output":
        return { status: 200, text: "the longer output", headers: { "Content-Disposition": "attachment; filename=run.txt" } };
      case "patch":
        return { status: 200, text: PATCH, headers: { "Content-Disposition": "attachment; filename=run.patch" } };
      default:
        return problem(404, "No such path");
    }
  }

  function act(id, rest, body) {
    if (rest !== "cancel" && rest !== "interrupt") return problem(404, "No such path");
    state.acts.push({ [rest]: body, id });
    if (rest === "interrupt" && body.intent !== "abort") return interrupted(id, body);
    if (id === "demo.fix-slug") {
      state.cancelled = true;
      const last = state.upTo;
      const ts = new Date(Date.parse(runs.get(id).events[last - 1].ts) + 900).toISOString();
      runs.get(id).events.splice(last, Infinity, {
        v: 1,
        run: UID,
        attempt: 1,
        seq: last + 1,
        ts,
        type: "run.finished",
        op: `o${last + 1}`,
        parent: "o1",
        role: "planner",
        source: "role:planner",
        destination: "human",
        title: "Result",
        outcome: "cancelled",
        error: {
          kind: "interrupted",
          message: "Stopped by a person.",
          retryable: false,
          actor: "nobody",
          detail: {},
        },
      });
      setTimeout(() => advance(1), 300);
    }
    return { status: 202, json: { id: "i1" } };
  }

  // An inquiry is answered, a redirection is taken: as two events after a moment.
  function interrupted(id, { intent, message }) {
    const uid = `uid-interrupt-${state.acts.length}`;
    const events = runs.get(id).events;
    if (id === "demo.fix-slug") events.splice(state.upTo, Infinity);
    const { v, run, attempt, seq, ts } = events[events.length - 1];
    const at = (number) => ({
      v,
      run,
      attempt,
      seq: seq + number,
      ts: new Date(Date.parse(ts) + number * 400).toISOString(),
    });
    const op = `o${seq + 1}`;
    state.later.push(() => {
      const received = { type: "interrupt.received", op, parent: "o1", role: "planner", source: "human" };
      const told = { destination: "role:planner", title: message, intervention: uid, intent, message, author: "jane" };
      const answer =
        intent === "inquire" ? "I have found the cause: `rfind` gives up the **last word**. Next is the fix." : "";
      state.upTo += id === "demo.fix-slug" ? 2 : 0;
      append(id, [
        { ...at(1), ...received, ...told },
        { ...at(2), type: "interrupt.answered", op, outcome: "success", text: answer },
      ]);
    });
    if (!state.holdActs) setTimeout(releaseActs, 250);
    return { status: 202, json: { id: `${intent}-1`, uid } };
  }

  /** Lets the next `count` events of the live run happen, for every open stream. */
  function advance(count = 1) {
    const { events } = runs.get("demo.fix-slug");
    const fresh = events.slice(state.upTo, state.upTo + count);
    state.upTo = Math.min(events.length, state.upTo + count);
    for (const listener of state.listeners) listener("demo.fix-slug", fresh);
    return fresh.length;
  }

  /** Plays one run's stream into `send(event, data, id)`; gives the function that ends it. */
  function subscribe(id, after, send) {
    send("status", summary(id));
    let sent = Number.parseInt(after, 10) || 0;
    const deliver = (events) => {
      const fresh = events.filter((event) => event.seq > sent);
      if (fresh.length === 0) return;
      sent = fresh.at(-1).seq;
      send("events", fresh, `${sent}.0`);
      if (fresh.some((event) => event.type === "run.finished")) {
        send("status", summary(id));
        send("end", { lastSeq: sent });
      }
    };
    deliver(visible(id));
    if (["Succeeded", "Failed", "Cancelled"].includes(summary(id).phase)) send("end", { lastSeq: sent });
    const listener = (runId, fresh) => runId === id && deliver(fresh);
    state.listeners.add(listener);
    return () => state.listeners.delete(listener);
  }

  /** Lets further events of any run happen. */
  function append(id, fresh) {
    runs.get(id).events.push(...fresh);
    for (const listener of state.listeners) listener(id, fresh);
  }

  /** Puts any events in front of the console, as a hostile log would. */
  function replaceEvents(id, events) {
    runs.get(id).events = events;
  }

  return { handle, subscribe, advance, append, replaceEvents, releaseActs, waiting, state, runs };
}
