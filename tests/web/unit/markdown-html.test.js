import { test } from "node:test";
import assert from "node:assert/strict";
import { closeFences, markdownToHtml, refusalFor } from "../../../web/src/markdown-html.js";

const html = (text) => markdownToHtml(text).html;

test("tables, strikethrough, lists and identifiers come out as written", () => {
  assert.match(html("|a|b|\n|-|:-|\n|1|~~2~~|"), /<table>[\s\S]*<del>2<\/del>/);
  assert.match(html("call some_long_name now"), /<p>call some_long_name now<\/p>/);
  assert.match(html("- a\n  - b\n- c"), /<ul>\s*<li>a<ul>\s*<li>b/);
  assert.equal(html("# app"), "<h1>app</h1>");
});

test("fenced code of a named language is highlighted, of none or an unknown one is not", () => {
  assert.match(
    html("```python\ndef f(): pass\n```"),
    /<code class="hljs language-python"><span class="hljs-keyword">def/,
  );
  assert.doesNotMatch(html("```\ndef f(): pass\n```"), /hljs-/);
  assert.doesNotMatch(html("```nosuchlanguage\ndef f(): pass\n```"), /hljs-/);
  assert.match(html('```python title="x"\nimport os\n```'), /hljs-keyword/);
});

test("code over its limit stays unhighlighted but whole", () => {
  const long = "x = 1\n".repeat(5000);
  const out = html(`\`\`\`python\n${long}\`\`\``);
  assert.doesNotMatch(out, /hljs-/);
  assert.ok(out.length > long.length);
});

test("MD-09: an unclosed fence is code from its first line on, at every cut", () => {
  const whole = "text\n\n```html\n<img src=x onerror=y>\n<b>live</b>\n";
  for (let end = whole.indexOf("<img"); end <= whole.length; end += 1) {
    assert.doesNotMatch(html(whole.slice(0, end)), /<img|<b>/);
  }
  assert.equal(closeFences("~~~\na\n```\nb"), "~~~\na\n```\nb\n~~~");
  assert.equal(closeFences("```js\na\n```\nb"), "```js\na\n```\nb");
});

test("a fence inside a list item does not end the list", () => {
  assert.equal(html("1. a\n   ```sh\n   make\n   ```\n2. b").match(/<ol>/g).length, 1);
});

test("markup that would explode in the parser is refused, ordinary markup is not", () => {
  assert.equal(refusalFor("<p>a <em>b</em></p>".repeat(1000)), "");
  assert.notEqual(refusalFor("<b a>".repeat(200) + "<p>x".repeat(2000)), "");
  assert.notEqual(refusalFor("<div>".repeat(5000)), "");
  assert.notEqual(refusalFor("x".repeat(2e6)), "");
});

test("prose over its limit is refused before any work", () => {
  assert.deepEqual(markdownToHtml("a".repeat(70000)), { ok: false, reason: "too long" });
});
