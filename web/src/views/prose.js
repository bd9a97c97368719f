// Guards agent prose on its way into a view: the only place where sanitised nodes become vnodes.
import { h, Lazy } from "../h.js";
import { toVNodes } from "../markdown.js";
import { POLICY } from "../markdown-policy.js";
import { unmarked } from "../derive/unmarked.js";
import { cut, escapeControls, stringOf } from "../safe.js";

/**
 * Agent Markdown as a vnode. `store` is a MarkdownStore; while it works the text without its marks shows, where it gives
 * up the raw text, each in one text node. Drawn again only when the text or its entry changes.
 */
export function Prose(store, value) {
  const raw = stringOf(value);
  return h("div", { class: "prose-field" }, Lazy({ view: ProseBody, raw, entry: store.get(raw) }));
}

function ProseBody({ raw, entry }) {
  if (entry.state === "done") {
    const nodes = toVNodes(h, entry.nodes, document.baseURI);
    return h("div", { class: "prose" }, entry.reason === "" ? nodes : [...nodes, note(entry.reason)]);
  }
  const shown = escapeControls(cut(raw, POLICY.limits.proseMaxChars));
  const pending = entry.state === "pending";
  const body = h("div", { class: "prose prose--text" }, pending ? unmarked(shown) : shown);
  return h("div", {}, pending ? [body] : [body, note(entry.reason)]);
}

const note = (reason) => h("p", { class: "prose-note" }, `Shown as plain text: ${reason}.`);
