// Every view state is in the address: #/runs/{id}?view=&op=&at=&q=&only=, #/history?..., #/compose?...
// Parsing is total: a broken address is Watch with nothing chosen.

export const VIEWS = ["flow", "sequence", "timeline", "changes", "events"];
const RUN_ID = /^[a-z0-9]([-a-z0-9]{0,62})\.[a-z0-9][-a-z0-9.]{0,252}$/;
const OP = /^o[1-9][0-9]{0,9}$/;
const QUERY_MAX_CHARS = 200;

/** A location hash as {screen, runId, uid, view, op, at, q, only, from}. Pure. */
export function parseRoute(hash) {
  const [path, query = ""] = String(hash).replace(/^#/, "").split("?", 2);
  const params = new URLSearchParams(query.slice(0, 4096));
  const [, screen = "", rawId = ""] = path.split("/");
  const route = {
    screen: screen === "history" || screen === "compose" ? screen : "watch",
    runId: "",
    uid: short(params.get("uid"), /^[A-Za-z0-9-]{1,64}$/),
    view: "flow",
    op: short(params.get("op"), OP),
    at: null,
    q: (params.get("q") ?? "").slice(0, QUERY_MAX_CHARS),
    only: params.get("only") === "1",
    from: short(params.get("from"), RUN_ID),
  };
  if (screen === "runs") route.runId = short(decoded(rawId), RUN_ID);
  if (VIEWS.includes(params.get("view"))) route.view = params.get("view");
  const at = Number(params.get("at"));
  if (Number.isSafeInteger(at) && at > 0) route.at = at;
  return route;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

const short = (value, pattern) => (typeof value === "string" && pattern.test(value) ? value : "");

/** The hash of a route; parseRoute of it gives the route back. Pure. */
export function formatRoute(route) {
  const params = new URLSearchParams();
  const path =
    route.screen === "watch" ? (route.runId ? `/runs/${encodeURIComponent(route.runId)}` : "/") : `/${route.screen}`;
  if (route.screen === "watch") {
    if (route.uid) params.set("uid", route.uid);
    if (route.view && route.view !== "flow") params.set("view", route.view);
    if (route.op) params.set("op", route.op);
    if (route.at) params.set("at", String(route.at));
    if (route.only) params.set("only", "1");
  }
  if (route.q) params.set("q", route.q);
  if (route.from) params.set("from", route.from);
  const query = params.toString();
  return `#${path}${query ? `?${query}` : ""}`;
}
