// The development page: the real console on fixture frames, with no server. Buttons let the run go on.
import { createBackend } from "./backend.js";

await wearStyles();
const backend = createBackend({
  nowMs: Date.now(),
  longCount: new URLSearchParams(location.search).has("long") ? 40000 : 0,
});

globalThis.fetch = async (path, init = {}) => {
  const answer = backend.handle(init.method ?? "GET", path, init.body ? JSON.parse(init.body) : undefined);
  return new Response(answer.status === 204 ? null : (answer.text ?? JSON.stringify(answer.json)), {
    status: answer.status,
  });
};

globalThis.EventSource = class extends EventTarget {
  constructor(path) {
    super();
    this.readyState = 0;
    const url = new URL(path, location.href);
    setTimeout(() => {
      if (this.readyState === 2) return;
      this.readyState = 1;
      this.onopen?.({});
      this.stop = backend.subscribe(
        decodeURIComponent(url.pathname.split("/")[3]),
        url.searchParams.get("after") ?? "0",
        (type, data, id) => {
          if (this.readyState === 1)
            this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(data), lastEventId: id ?? "" }));
        },
      );
    }, 60);
  }

  close() {
    this.readyState = 2;
    this.stop?.();
  }
};

/** Puts on the style sheets of the product's own page, in its order, before those of this page. */
async function wearStyles() {
  const page = await (await fetch("index.html")).text();
  const own = document.querySelector("link[rel=stylesheet]");
  for (const [, href, id] of page.matchAll(/<link rel="stylesheet" href="([^"]+)"(?: id="([^"]+)")?>/g)) {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
    if (id) link.id = id;
    own.before(link);
  }
}

let playing = null;
document.getElementById("step").onclick = () => backend.advance(1);
document.getElementById("play").onclick = (event) => {
  if (playing !== null) clearInterval(playing);
  playing = playing === null ? setInterval(() => backend.advance(1), 450) : null;
  event.target.textContent = playing === null ? "Play" : "Pause";
};

if (location.hash === "") location.hash = "#/runs/demo.fix-slug";
await import("../src/main.js");
