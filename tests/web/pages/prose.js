// The real pipeline (Worker, store, sanitizer, vnodes, hyperapp) around one field, driven by the tests.
import { app, h } from "/src/h.js";
import { sanitize } from "/src/markdown.js";
import { createMarkdownStore } from "/src/markdown-render.js";
import { parseInertBody, startMarkdownWorker } from "/src/trusted-types.js";
import { Prose } from "/src/views/prose.js";

let dispatch = null;
const store = createMarkdownStore({
  startWorker: startMarkdownWorker,
  build: (html) => sanitize(parseInertBody(html)),
  onChange: () => dispatch((state) => ({ ...state })),
});
app({
  init: { texts: [] },
  node: document.getElementById("app"),
  view: (state) =>
    h(
      "main",
      { id: "app" },
      state.texts.map((text) => h("section", {}, Prose(store, text))),
    ),
  subscriptions: () => [
    [
      (dispatcher) => {
        dispatch = dispatcher;
        return () => {};
      },
      {},
    ],
  ],
});

/** Shows `texts`, and answers when none is pending: [{state, reason}]. */
window.showProse = async (texts) => {
  dispatch((state) => ({ ...state, texts }));
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const entries = texts.map((text) => store.get(text));
    if (entries.every((entry) => entry.state !== "pending")) {
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      return entries.map(({ state, reason }) => ({ state, reason }));
    }
  }
};
/** The sanitizer alone on HTML, built into the page: for payloads that are HTML already. */
window.showHtml = (html) => {
  const store = { get: () => ({ state: "done", reason: "", nodes: sanitize(parseInertBody(html)).nodes }) };
  window.direct = (window.direct ?? 0) + 1;
  dispatch((state) => ({ ...state, texts: [] }));
  const host = document.createElement("div");
  document.body.append(host);
  app({ init: {}, node: host, view: () => h("section", { id: `direct${window.direct}` }, Prose(store, html)) });
  return `direct${window.direct}`;
};
window.pwned = undefined;
