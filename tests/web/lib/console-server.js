// The static server with the fixture backend behind /api: the console's own contract, over real HTTP and SSE.
import { createBackend } from "../../../web/dev/backend.js";
import { startServer } from "../serve.mjs";

export async function startConsoleServer(options = {}) {
  const backend = createBackend(options);
  const streams = new Set();
  const control = { refuseStreams: false, holdStreams: false, opened: 0 };
  const server = await startServer({
    route: async (request, response) => {
      if (!request.url.startsWith("/api/")) return false;
      if (/\/stream(\?|$)/.test(request.url)) return stream(request, response);
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString("utf8")) : undefined;
      if (request.method !== "GET" && request.headers["content-type"] !== "application/json")
        return answer(response, { status: 415, json: { title: "Body is not JSON", status: 415 } });
      return answer(response, backend.handle(request.method, request.url, body));
    },
  });

  function answer(response, { status, json, text, headers = {} }) {
    response.writeHead(status, {
      "Content-Type": json ? "application/json" : "application/octet-stream",
      "Cache-Control": "no-store",
      ...headers,
    });
    response.end(status === 204 ? undefined : (text ?? JSON.stringify(json)));
    return true;
  }

  function stream(request, response) {
    if (control.refuseStreams) return answer(response, { status: 503, json: { title: "No", status: 503 } });
    control.opened += 1;
    const url = new URL(request.url, "http://x");
    response.writeHead(200, {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-store",
      "X-Accel-Buffering": "no",
    });
    response.write("retry: 200\n\n");
    if (control.holdStreams) return true;
    const after = request.headers["last-event-id"] ?? url.searchParams.get("after") ?? "0";
    const stop = backend.subscribe(decodeURIComponent(url.pathname.split("/")[3]), after, (type, data, id) =>
      response.write(`event: ${type}\n${id ? `id: ${id}\n` : ""}data: ${JSON.stringify(data)}\n\n`),
    );
    streams.add(response);
    request.on("close", () => {
      stop();
      streams.delete(response);
    });
    return true;
  }

  /** Cuts every open stream, as a proxy would. */
  const cutStreams = () => {
    for (const response of streams) response.destroy();
  };
  return { ...server, backend, control, cutStreams };
}
