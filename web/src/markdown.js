// Guards against markup in agent prose: whatever the parser made of it, only listed elements and attributes survive.
// The result is a plain tree, then vnodes. Nothing here, or after it, turns text into markup again.
import { POLICY } from "./markdown-policy.js";
import * as read from "./dom-read.js";
import { escapeControls, isAllowedHref, linkTarget, attr } from "./safe.js";

const HTML = "http://www.w3.org/1999/xhtml";
const ELEMENT = 1;
const TEXT = 3;
const TAGS = new Set(POLICY.tags);
const DROPPED = new Set(POLICY.dropWithContent);
const CLASS = new RegExp(POLICY.classPattern);

/** "keep" the element, "unwrap" it (children stay) or "drop" it with everything inside. Pure. */
export function verdictFor(element) {
  const name = read.localName(element);
  if (read.namespaceURI(element) !== HTML || DROPPED.has(name)) return "drop";
  return TAGS.has(name) ? "keep" : "unwrap";
}

/** The attributes of one element that may stay, as a record. Pure. */
export function keptAttributes(element) {
  const kept = {};
  for (const name of POLICY.attributes[read.localName(element)] ?? []) {
    const value = read.attributeOf(element, name);
    if (value === null) continue;
    if (name === "class") {
      const classes = value.split(/\s+/).filter((token) => CLASS.test(token));
      if (classes.length > 0) kept.class = classes.join(" ");
    } else if (name !== "href" || isAllowedHref(value, POLICY.schemes)) kept[name] = value;
  }
  return kept;
}

/**
 * Walks a parsed body and returns {nodes, truncated}: nodes are strings or {tag, attrs, children}.
 * Iterative: depth is the document's, not the call stack's. Past treeMaxDepth elements are unwrapped,
 * past treeMaxNodes the rest is left out and `truncated` says so.
 */
export function sanitize(body, limits = POLICY.limits) {
  const root = [];
  const walk = { node: read.firstChild(body), top: body, outs: [root], depths: [0], count: 0, truncated: false };
  while (walk.node !== null) {
    if (walk.count >= limits.treeMaxNodes) {
      walk.truncated = true;
      break;
    }
    stepInto(walk, limits);
  }
  return { nodes: root, truncated: walk.truncated };
}

function stepInto(walk, limits) {
  const node = walk.node;
  const type = read.nodeType(node);
  if (type === TEXT) appendText(walk, read.dataOf(node));
  if (type !== ELEMENT) return advance(walk);
  const verdict = verdictFor(node);
  if (verdict === "drop") return advance(walk);
  const out = walk.outs[walk.outs.length - 1];
  const depth = walk.depths[walk.depths.length - 1];
  const keep = verdict === "keep" && depth < limits.treeMaxDepth;
  const made = keep ? { tag: read.localName(node), attrs: keptAttributes(node), children: [] } : null;
  if (made !== null) {
    out.push(made);
    walk.count += 1;
  }
  const child = read.firstChild(node);
  if (child === null) return advance(walk);
  walk.outs.push(made === null ? out : made.children);
  walk.depths.push(made === null ? depth : depth + 1);
  walk.node = child;
}

function appendText(walk, data) {
  const out = walk.outs[walk.outs.length - 1];
  if (typeof out[out.length - 1] === "string") out[out.length - 1] += data;
  else {
    out.push(data);
    walk.count += 1;
  }
}

function advance(walk) {
  let node = walk.node;
  let next = read.nextSibling(node);
  while (next === null) {
    node = read.parentNode(node);
    if (node === walk.top) {
      walk.node = null;
      return;
    }
    walk.outs.pop();
    walk.depths.pop();
    next = read.nextSibling(node);
  }
  walk.node = next;
}

/**
 * Fresh vnodes for a sanitised tree (hyperapp must never meet the same vnode twice).
 * Links open apart from the console and show the host they lead to.
 */
export function toVNodes(h, nodes, base) {
  return nodes.map((node) => {
    if (typeof node === "string") return escapeControls(node);
    const children = toVNodes(h, node.children, base);
    return node.tag === "a" ? linkVNode(h, node, children, base) : h(node.tag, { ...node.attrs }, children);
  });
}

function linkVNode(h, node, children, base) {
  if (node.attrs.href === undefined) return h("a", titleOf(node), children);
  const target = linkTarget(node.attrs.href, base, POLICY.schemes);
  if (target === null) return h("a", titleOf(node), children);
  const props = { ...titleOf(node), href: target.href, rel: "noopener noreferrer", target: "_blank" };
  const host = target.external ? target.host : "this console";
  return h("span", {}, [h("a", props, children), h("span", { class: "link-host" }, ` (${host})`)]);
}

const titleOf = (node) => (node.attrs.title === undefined ? {} : { title: attr(node.attrs.title) });
