// Guards the console against what a server or proxy answers: every call gives {ok, status, data} or {ok: false, problem}.
import { listOf, recordOf, stringOf } from "./safe.js";

export const REQUEST_MAX_MS = 20000;

/** One JSON call to the console's own origin. Never throws. */
export async function call(method, path, body, { timeoutMs = REQUEST_MAX_MS } = {}) {
  const init = {
    method,
    headers: { Accept: "application/json" },
    credentials: "same-origin",
    signal: AbortSignal.timeout(timeoutMs),
  };
  if (method !== "GET") {
    init.headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body ?? {});
  }
  let response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    const title = error.name === "TimeoutError" ? "The server did not answer in time" : "The server cannot be reached";
    return refused(0, { title, detail: "Check the connection or the port-forward, then try again." });
  }
  if (response.status === 204) return { ok: true, status: 204, data: null };
  let data;
  try {
    data = await response.json();
  } catch {
    return refused(response.status, {
      title: `The server answered ${response.status} with something that is not JSON`,
    });
  }
  return response.ok ? { ok: true, status: response.status, data } : refused(response.status, data);
}

function refused(status, data) {
  const problem = recordOf(data);
  return {
    ok: false,
    status,
    problem: {
      status,
      title: stringOf(problem.title) || `The server answered ${status}`,
      detail: stringOf(problem.detail),
      errors: listOf(problem.errors),
    },
  };
}

/** The path of a Run's route; `uid` keeps the answer about the same Run when its name returns. */
export function runPath(id, rest = "", uid = "", params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== undefined && value !== ""));
  if (uid) query.set("uid", uid);
  const text = query.toString();
  return `/api/runs/${encodeURIComponent(id)}${rest}${text ? `?${text}` : ""}`;
}
