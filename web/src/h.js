// Guards hyperapp's patch: it tells a text node from an element by name only, so the text "code" in the place of a
// <code> would be patched as an element. Every text child gets a key of its own kind, so the two never meet.
import { h as make } from "../vendor/hyperapp.js";

export { app, Lazy } from "../vendor/hyperapp.js";

const TEXT_NODE = 3;
const NO_PROPS = {};
const NO_CHILDREN = [];

/** h(tag, props, ...children): children are vnodes, strings, numbers, nested lists; null and booleans vanish. */
export function h(tag, props, ...children) {
  const counter = { texts: 0 };
  return make(tag, props, keyed(children, counter));
}

function keyed(children, counter) {
  return children.map((child) => {
    if (Array.isArray(child)) return keyed(child, counter);
    if (typeof child !== "string" && typeof child !== "number") return child;
    counter.texts += 1;
    return textVNode(String(child), `\u0000text${counter.texts}`);
  });
}

const textVNode = (name, key) => ({
  name,
  props: NO_PROPS,
  children: NO_CHILDREN,
  node: undefined,
  type: TEXT_NODE,
  key,
});
