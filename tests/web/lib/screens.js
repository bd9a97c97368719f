// Whole screens drawn in jsdom: a state in, the element that the real hyperapp made of it out.
import assert from "node:assert/strict";
import { dom, frames } from "./dom.js";

globalThis.matchMedia = () => ({ matches: true, addEventListener() {}, removeEventListener() {} });
Object.assign(globalThis, { addEventListener: dom.window.addEventListener.bind(dom.window) });
const { app, h } = await import("../../../web/src/h.js");
const { createView } = await import("../../../web/src/view.js");
const { initialState } = await import("../../../web/src/state.js");
const { foldAll } = await import("../../../web/src/fold.js");
const { sanitize } = await import("../../../web/src/markdown.js");
const { markdownToHtml } = await import("../../../web/src/markdown-html.js");
const { parseInertBody } = await import("../../../web/src/trusted-types.js");
const { createLabels } = await import("../../../web/src/labels.js");

const store = {
  get(text) {
    let made = { ok: false };
    try {
      made = markdownToHtml(text);
    } catch {
      // As the Worker: a formatter that throws is a fallback.
    }
    return made.ok
      ? {
          state: "done",
          nodes: sanitize(parseInertBody(made.html).body ?? parseInertBody(made.html)).nodes,
          reason: "",
        }
      : { state: "fallback", nodes: null, reason: "test" };
  },
};
const view = createView(store);

/** Draws one state with the real hyperapp and gives the element. */
export async function draw(state) {
  const host = dom.window.document.createElement("div");
  dom.window.document.body.append(host);
  app({ init: state, node: host, view: (current) => h("div", { id: "draw" }, view(current)) });
  await frames(3);
  const element = dom.window.document.getElementById("draw");
  element.remove();
  return element;
}

/** A state on some address, before anything has arrived; somebody is signed in. */
export const base = (hash = "#/runs/demo.fix-slug") => ({
  ...initialState({ hash, theme: "light", nowMs: Date.parse("2026-01-05T14:02:40Z"), wide: true }),
  session: { status: "in", user: "jane", error: "", busy: false },
});

/** A state in which the Run of `events` is watched; `summary` adds to its row, the rest to the state. */
export function watching(events, { hash, config = null, summary = {}, ...more } = {}) {
  const state = base(hash);
  const model = foldAll(events);
  return {
    ...state,
    config,
    labels: createLabels(config, model.run),
    run: {
      ...state.run,
      id: "demo.fix-slug",
      model,
      version: 1,
      summary: { id: "demo.fix-slug", phase: "Running", label: "fix-slug", ...summary },
      connection: { state: "live" },
    },
    ...more,
  };
}

const FORBIDDEN =
  "script,style,iframe,object,embed,form:not(.signin-card):not(.compose-form),img,video,audio,base,meta,link,template,foreignObject,animate,set,use,image";

/** No element or attribute in the page that we did not write: what data could have added. */
export function assertTrusted(element, what) {
  assert.equal(element.querySelectorAll(FORBIDDEN).length, 0, what);
  for (const one of element.querySelectorAll("*")) {
    for (const { name, value } of one.attributes) {
      assert.doesNotMatch(name, /^on|^srcdoc$|^src$|^action$|^formaction$|^xlink/i, `${what} ${one.localName}@${name}`);
      if (name === "href") assert.match(value, /^(#|https?:\/\/|mailto:|icons\/)/, what);
    }
  }
  assert.doesNotMatch(element.textContent, /[\u0000-\u0008\u001b]/, what);
}
