import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { policyModule } from "../../../web/generate-policy.mjs";
import { POLICY } from "../../../web/src/markdown-policy.js";

const src = new URL("../../../web/src/", import.meta.url);
const json = readFileSync(new URL("markdown-policy.json", src), "utf8");

test("the generated module equals the JSON", () => {
  assert.equal(readFileSync(new URL("markdown-policy.js", src), "utf8"), policyModule(json));
});

test("tags kept and tags dropped do not overlap, and nothing executable is kept", () => {
  const dropped = new Set(POLICY.dropWithContent);
  assert.deepEqual(
    POLICY.tags.filter((tag) => dropped.has(tag)),
    [],
  );
  for (const tag of ["script", "style", "iframe", "svg", "math", "form", "img", "template", "base", "meta"]) {
    assert.ok(dropped.has(tag), tag);
  }
  assert.deepEqual([...POLICY.schemes].sort(), ["http", "https", "mailto"]);
});

test("the headers are the promised ones", () => {
  const headers = JSON.parse(readFileSync(new URL("../headers.json", src), "utf8"));
  const csp = Object.fromEntries(
    headers["Content-Security-Policy"]
      .split("; ")
      .map((part) => [part.split(" ")[0], part.split(" ").slice(1).join(" ")]),
  );
  assert.deepEqual(csp, {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "font-src": "'self'",
    "connect-src": "'self'",
    "worker-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "guildhall-parse guildhall-worker",
  });
  assert.equal(headers["X-Content-Type-Options"], "nosniff");
  assert.equal(headers["Referrer-Policy"], "no-referrer");
  assert.equal(headers["Cross-Origin-Opener-Policy"], "same-origin");
});
