import { test } from "node:test";
import assert from "node:assert/strict";
import { dom, frames } from "../lib/dom.js";
import { allowlistGoldens, corporaMissing, hostileTexts, ownCases, xssCases } from "../lib/corpora.js";
import { textOf } from "../lib/cases.js";
import { violations } from "../lib/allowlist.js";

const { app, h } = await import("../../../web/src/h.js");
const { sanitize, toVNodes } = await import("../../../web/src/markdown.js");
const { Prose } = await import("../../../web/src/views/prose.js");
const { parseInertBody } = await import("../../../web/src/trusted-types.js");
const { markdownToHtml } = await import("../../../web/src/markdown-html.js");

const treeOf = (html) => sanitize(parseInertBody(html)).nodes;
const storeOf = (entry) => ({ get: () => entry });

/** Draws a tree with the real hyperapp and gives the element that holds it. */
async function drawn(nodes) {
  const host = dom.window.document.createElement("div");
  dom.window.document.body.append(host);
  const entry = { state: "done", nodes, reason: "" };
  app({ init: {}, node: host, view: () => h("section", { id: "under-test" }, Prose(storeOf(entry), "x")) });
  await frames(2);
  const section = dom.window.document.getElementById("under-test");
  section.remove();
  return section.querySelector(".prose");
}

const escape = (value) =>
  value
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/\u00a0/g, "&nbsp;");
const serialised = (nodes) =>
  nodes
    .map((node) => {
      if (typeof node === "string") return escape(node);
      const attrs = Object.entries(node.attrs).map(
        ([name, value]) => ` ${name}="${value.replace(/&/g, "&amp;").replace(/"/g, "&quot;")}"`,
      );
      const open = `<${node.tag}${attrs.join("")}>`;
      return node.tag === "br" || node.tag === "hr" ? open : `${open}${serialised(node.children)}</${node.tag}>`;
    })
    .join("");

// The written rule keeps only hljs* and language-* classes; this golden keeps any class on <pre>. The rule wins.
const STRICTER = new Map([
  ['<pre class=a onfocus=b><code class="hljs">x</code></pre>', '<pre><code class="hljs">x</code></pre>'],
]);

test("the tree is exactly the golden one", { skip: corporaMissing }, () => {
  assert.ok(allowlistGoldens().length > 80);
  for (const { payload, expected } of allowlistGoldens()) {
    assert.equal(serialised(treeOf(payload)), STRICTER.get(payload) ?? expected, payload);
  }
});

test("positive control: the checker sees what it must refuse", () => {
  const bad = dom.window.document.createElement("div");
  for (const [tag, name, value] of [
    ["img", "src", "x"],
    ["p", "id", "y"],
    ["a", "href", "javascript:x"],
    ["code", "class", "button"],
  ]) {
    const element = dom.window.document.createElement(tag);
    element.setAttribute(name, value);
    bad.append(element);
  }
  assert.equal(violations(bad).length, 5);
});

test(
  "C1: every public payload, as HTML and as Markdown, draws inside the allowlist",
  { skip: corporaMissing },
  async () => {
    const cases = xssCases();
    assert.ok(cases.length > 1000);
    for (const { source, title, payload } of cases) {
      const trees = [treeOf(payload)];
      if (payload.length < 4096) {
        const made = markdownToHtml(payload);
        if (made.ok) trees.push(treeOf(made.html));
      }
      for (const tree of trees) assert.deepEqual(violations(await drawn(tree)), [], `${source} ${title}`);
    }
  },
);

test("C1: the project's own cases", async () => {
  for (const one of ownCases().filter((each) => !each.slow)) {
    const made = markdownToHtml(textOf(one));
    assert.ok(made.ok, one.id);
    const section = await drawn(treeOf(made.html));
    assert.deepEqual(violations(section), [], one.id);
    assert.doesNotMatch(section.textContent, /[\u0000-\u0008\u001b]/, one.id);
  }
});

test("links show their host, open apart and lose refused addresses", async () => {
  const section = await drawn(
    treeOf('<a href="https://good@evil.example/">pay</a><a href="javascript:x">no</a><a href="#/runs/x">in</a>'),
  );
  const [pay, no, inside] = section.querySelectorAll("a");
  assert.equal(pay.rel, "noopener noreferrer");
  assert.equal(pay.target, "_blank");
  assert.match(section.textContent, /pay \(evil\.example\)/);
  assert.equal(no.hasAttribute("href"), false);
  assert.match(inside.parentNode.textContent, /this console/);
});

test("the call stack is not the tree's depth", async () => {
  const document = dom.window.document;
  let at = document.createTextNode("deep");
  for (let i = 0; i < 3000; i += 1) {
    const around = document.createElement("em");
    around.appendChild(at);
    at = around;
  }
  const body = document.createElement("body");
  body.appendChild(at);
  assert.equal((await drawn(sanitize(body).nodes)).textContent, "deep");
});

test("names that shadow DOM properties steer nothing", () => {
  for (const name of [
    "nextSibling",
    "firstChild",
    "parentNode",
    "localName",
    "namespaceURI",
    "nodeType",
    "getAttribute",
  ]) {
    assert.equal(serialised(treeOf(`<form><input name=${name}><p>in</p></form><p>after</p>`)), "<p>after</p>", name);
  }
  assert.equal(serialised(treeOf("<img name=body><p>kept</p>")), "<p>kept</p>");
});

test("text that equals a tag name is text after every redraw", async () => {
  const host = dom.window.document.createElement("div");
  dom.window.document.body.append(host);
  let dispatch;
  app({
    init: 0,
    node: host,
    view: (turn) => h("section", { id: "swap" }, turn % 2 === 0 ? "code" : h("code", {}, "x")),
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
  await frames(2);
  for (const wanted of ["<code>x</code>", "code", "<code>x</code>"]) {
    dispatch((turn) => turn + 1);
    await frames(2);
    assert.equal(dom.window.document.getElementById("swap").childNodes.length, 1);
    assert.equal(dom.window.document.getElementById("swap").firstChild.nodeName === "CODE", wanted !== "code");
  }
  dom.window.document.getElementById("swap").remove();
});

test("a tree over its node limit is cut and says so", () => {
  const document = dom.window.document.implementation.createHTMLDocument("");
  for (let i = 0; i < 30; i += 1) document.body.append(document.createElement("p"));
  const { nodes, truncated } = sanitize(document.body, { treeMaxNodes: 10, treeMaxDepth: 5 });
  assert.deepEqual([nodes.length, truncated], [10, true]);
});

test("elements of another namespace are dropped whole, whatever they are called", () => {
  const document = dom.window.document.implementation.createHTMLDocument("");
  const foreign = document.createElementNS("http://www.w3.org/2000/svg", "p");
  foreign.append("x");
  document.body.append(foreign, "y");
  assert.deepEqual(sanitize(document.body).nodes, ["y"]);
});

test("vnodes are fresh each time and strings stay strings", () => {
  const tree = treeOf("<p>a<b>c</b></p>");
  const [one] = toVNodes(h, tree, "http://console.test/");
  const [two] = toVNodes(h, tree, "http://console.test/");
  assert.notEqual(one, two);
  assert.equal(one.children[0].type, 3);
});

test("C2: any value at all as prose is text", async () => {
  for (const value of [null, undefined, 3, [1], { type: 2, innerHTML: "<img>" }, true]) {
    const host = dom.window.document.createElement("div");
    dom.window.document.body.append(host);
    const entry = { state: "fallback", nodes: null, reason: "test" };
    app({ init: {}, node: host, view: () => h("section", { id: "c2" }, Prose(storeOf(entry), value)) });
    await frames(2);
    const section = dom.window.document.getElementById("c2");
    assert.equal(section.querySelectorAll("img").length, 0);
    section.remove();
  }
});

test("hostile strings as prose leave no control character in the DOM", { skip: corporaMissing }, async () => {
  for (const { id, text } of hostileTexts().filter((one) => one.text.length < 4096)) {
    let made = { ok: false };
    try {
      made = markdownToHtml(text);
    } catch {
      continue;
    }
    if (!made.ok) continue;
    const section = await drawn(treeOf(made.html));
    assert.deepEqual(violations(section), [], id);
    assert.doesNotMatch(section.textContent, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/, id);
  }
});
