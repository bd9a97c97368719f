// A small static server for tests: web/ with the exact headers of web/headers.json, and nothing else.
// `node tests/web/serve.mjs [port]` serves the development page; tests import startServer.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { extname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../web/", import.meta.url));
export const HEADERS = JSON.parse(readFileSync(join(ROOT, "headers.json"), "utf8"));
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};

/** Starts on loopback; `route(request, response)` may answer first by returning true. Gives {url, close, requests}. */
export async function startServer({ port = 0, route = () => false } = {}) {
  const requests = [];
  const server = createServer(async (request, response) => {
    requests.push(request.url);
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    try {
      if (await route(request, response)) return;
      await sendFile(request, response);
    } catch (error) {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    }
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  };
}

async function sendFile(request, response) {
  const path = decodeURIComponent(new URL(request.url, "http://x").pathname);
  const file = normalize(join(ROOT, path.endsWith("/") ? `${path}index.html` : path));
  const body = file.startsWith(ROOT.endsWith(sep) ? ROOT : ROOT + sep) ? await readFile(file).catch(() => null) : null;
  if (body === null) {
    response.writeHead(404, { "Content-Type": "text/plain" });
    response.end("not found");
    return;
  }
  response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" });
  response.end(body);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await startServer({ port: Number(process.argv[2] ?? 8080) });
  console.log(`${url}/dev.html`);
}
