import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";

const web = new URL("../../../web/", import.meta.url);
const SINKS = [
  /\binnerHTML\b/,
  /\bouterHTML\b/,
  /insertAdjacentHTML/,
  /document\.write/,
  /\beval\s*\(/,
  /new Function\b/,
  /\bsrcdoc\b/,
  /createContextualFragment/,
  /setHTMLUnsafe/,
  /importScripts/,
  /highlightAuto/,
  /setFlavor/,
  /set(?:Timeout|Interval)\s*\(\s*["'`]/,
  /localStorage.*token/i,
];

function sources(folder = new URL("src/", web), prefix = "") {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? sources(new URL(`${entry.name}/`, folder), `${prefix}${entry.name}/`)
      : entry.name.endsWith(".js")
        ? [[`${prefix}${entry.name}`, readFileSync(new URL(entry.name, folder), "utf8")]]
        : [],
  );
}

const code = (source) => source.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
const hits = (source, patterns) => patterns.filter((pattern) => pattern.test(code(source))).map(String);

test("no dangerous sink in the console's source", () => {
  assert.notDeepEqual(hits("node.innerHTML = x", SINKS), []);
  assert.ok(sources().length > 5);
  for (const [name, source] of sources()) assert.deepEqual(hits(source, SINKS), [], name);
});

test("only trusted-types.js parses HTML, makes policies or starts workers", () => {
  const guarded = [/DOMParser/, /createPolicy/, /new Worker/, /parseFromString/];
  for (const [name, source] of sources()) {
    if (name === "trusted-types.js") assert.equal(hits(source, guarded).length, guarded.length);
    else assert.deepEqual(hits(source, guarded), [], name);
  }
});

test("pages carry no inline script, style or foreign address", () => {
  for (const page of readdirSync(web).filter((name) => name.endsWith(".html"))) {
    const html = readFileSync(new URL(page, web), "utf8");
    assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)[^>]*>/i, page);
    assert.doesNotMatch(html, /<style|\sstyle=|\son[a-z]+=|https?:\/\/|data:/i, page);
  }
});
