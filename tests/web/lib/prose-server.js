// The static server plus the test page around one prose field.
import { readFile } from "node:fs/promises";
import { startServer } from "../serve.mjs";

const PAGES = { "/tests/prose.html": "text/html; charset=utf-8", "/tests/prose.js": "text/javascript; charset=utf-8" };

export const startProseServer = () =>
  startServer({
    route: async (request, response) => {
      const type = PAGES[request.url];
      if (type === undefined) return false;
      response.writeHead(200, { "Content-Type": type });
      response.end(await readFile(new URL(`../pages/${request.url.split("/").pop()}`, import.meta.url)));
      return true;
    },
  });
