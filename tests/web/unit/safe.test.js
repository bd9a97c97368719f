import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  attr,
  cut,
  hasHidden,
  isAllowedHref,
  linkTarget,
  listOf,
  numberOr,
  prettyJson,
  recordOf,
  reveal,
  text,
} from "../../../web/src/safe.js";
import { HIDDEN, PICTURES } from "../../../web/src/contract.js";
import { corporaMissing, hostileTexts } from "../lib/corpora.js";

const SCHEMES = ["http", "https", "mailto"];
const NOT_STRINGS = [
  null,
  undefined,
  0,
  -1,
  NaN,
  Infinity,
  true,
  [],
  {},
  [1, [2]],
  { type: 2, name: "script", props: { innerHTML: "x" }, children: [] },
  () => "x",
  Symbol("x"),
  10n,
  new Date(0),
];

test("C2: text and attr give a string for anything at all", () => {
  assert.equal(text("plain"), "plain");
  for (const value of NOT_STRINGS) {
    assert.equal(typeof text(value), "string");
    assert.equal(typeof attr(value), "string");
  }
  const loop = {};
  loop.self = loop;
  assert.equal(text(loop), "[unreadable value]");
  assert.deepEqual(
    [listOf({ length: 3 }), recordOf([]), recordOf(null), numberOr("3"), numberOr(3)],
    [[], {}, {}, null, 3],
  );
});

test("hidden characters are written out, ordinary ones are not", () => {
  assert.equal(reveal("a\u202eb\u200bc\ud800d\u0000"), "a\\u{202e}b\\u{200b}c\ufffdd\\x00");
  assert.equal(reveal("grüße 日本 עברית 👩‍💻 ✔️ a\n\tb"), "grüße 日本 עברית 👩‍💻 ✔️ a\n\tb");
  assert.equal(reveal("\u{e0041}"), "\\u{e0041}");
  assert.equal(reveal("a\ufe00b\ufe0f \u2800"), "a\\u{fe00}b\\u{fe0f} \\u{2800}");
  assert.equal(reveal("✔\ufe0f 1\ufe0f\u20e3 👍🏽\ufe0f"), "✔\ufe0f 1\ufe0f\u20e3 👍🏽\ufe0f");
  assert.equal(reveal("✔\ufe0f\ufe0f"), "✔\ufe0f\\u{fe0f}", "one selector shows a picture, a second one hides data");
  assert.ok(hasHidden("a\u200db") && !hasHidden("ab"));
  assert.equal(attr("a\nb\tc"), "a b c");
});

const SPELT = JSON.parse(readFileSync(new URL("../../golden/visible/cases.json", import.meta.url), "utf8"));

for (const { why, text: raw, shown } of SPELT) {
  test(`golden visible: ${why}`, () => {
    assert.equal(reveal(raw), shown);
    assert.equal(hasHidden(raw), raw !== shown);
  });
}

const codePointsOf = (ranges) =>
  ranges.split(" ").flatMap((range) => {
    const [first, last = first] = range.split("-").map((end) => Number.parseInt(end, 16));
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });

test("whatever hides is spelt out: the contract's list, and by the engine's own tables", () => {
  for (const code of codePointsOf(HIDDEN)) assert.ok(hasHidden(`a${String.fromCodePoint(code)}b`), code.toString(16));
  const ignorable = /^[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Zl}\p{Zp}]$/u;
  for (let code = 0; code < 0x110000; code += 1) {
    const char = String.fromCodePoint(code);
    if (ignorable.test(char) && char !== "\n" && char !== "\t") assert.ok(hasHidden(`a${char}b`), code.toString(16));
  }
});

test("every emoji keeps its selector, and nothing else of the scripts people write has one", () => {
  const pictures = new Set(codePointsOf(PICTURES));
  for (let code = 0; code < 0x1fb00; code += 1) {
    const emoji = /^(?![#*0-9])\p{Emoji}$/u.test(String.fromCodePoint(code));
    if (emoji || code < 0x1f000) assert.equal(pictures.has(code), emoji, code.toString(16));
  }
});

test("text is cut with the missing amount named, never inside a character", () => {
  assert.equal(cut("abcdef", 3), "abc… [3 more characters]");
  assert.equal(cut("ab👩cd", 3), "ab… [4 more characters]");
  assert.ok(text("x".repeat(1e6)).length < 9000);
});

test("hostile strings reach a text node with nothing hidden in them", { skip: corporaMissing }, () => {
  for (const { id, text: raw } of hostileTexts()) {
    assert.doesNotMatch(
      text(raw),
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00a0\u202a-\u202e\u2066-\u2069\u061c\u200b\u200c\u200e\u200f\ufeff\u00ad\u180e\u3164\u2028\u2029]|[\u{e0000}-\u{e007f}]/u,
      id,
    );
  }
});

test("JSON is recognised also inside a string, and only objects and arrays count", () => {
  assert.equal(prettyJson('{"path":"a"}'), '{\n  "path": "a"\n}');
  assert.equal(prettyJson({ a: [1] }), '{\n  "a": [\n    1\n  ]\n}');
  for (const value of ["12", '"x"', "{broken", "", null, 3, true, "[".repeat(20000)])
    assert.equal(prettyJson(value), null);
});

test("schemes are read as a browser might read them", () => {
  for (const href of ["https://a", "HTTP://a", "mailto:a@b", "/x", "#x", "?q", "//a", "./a:b", "x/y:z", ""]) {
    assert.ok(isAllowedHref(href, SCHEMES), href);
  }
  for (const href of [
    "javascript:x",
    " javascript:x",
    "java\tscript:x",
    "\u0001javascript:x",
    "\u200bjavascript:x",
    "javascript\u00ad:x",
    "\u00a0data:x",
    "file:///x",
    "a:b",
    "ftp://x",
  ]) {
    assert.ok(!isAllowedHref(href, SCHEMES), JSON.stringify(href));
  }
});

test("C4: a link says where it really leads", () => {
  const at = (href) => linkTarget(href, "http://console.test/", SCHEMES);
  assert.equal(at("https://good.example@evil.example/").host, "evil.example");
  assert.equal(at("//evil.example/x").host, "evil.example");
  assert.equal(at("/\\evil.example").host, "evil.example");
  assert.match(at("https://ex\u0430mple.test/").host, /^xn--/);
  assert.equal(at("#x").external, false);
  assert.equal(at("https://"), null);
  assert.equal(at("javascript:x"), null);
});
