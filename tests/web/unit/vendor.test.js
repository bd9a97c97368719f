import { test } from "node:test";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";

const folder = new URL("../../../web/vendor/", import.meta.url);
const { files } = JSON.parse(readFileSync(new URL("vendor.json", folder), "utf8"));
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

test("every vendored file is the named package's file, byte for byte", () => {
  for (const { file, sha256: wanted, bytes } of files) {
    const content = readFileSync(new URL(file, folder));
    assert.equal(content.length, bytes, file);
    assert.equal(sha256(content), wanted, file);
  }
  assert.notEqual(sha256("x"), files[0].sha256);
});

test("nothing else lies in vendor, and each script has its licence", () => {
  const listed = [...files.map((one) => one.file), "vendor.json"].sort();
  assert.deepEqual(readdirSync(folder).sort(), listed);
  for (const name of ["hyperapp", "showdown", "highlight"]) assert.ok(listed.includes(`${name}.LICENSE`));
});

test("no package.json names a vendored package", () => {
  for (const path of ["../../../web/package.json", "../package.json"]) {
    const source = readFileSync(new URL(path, import.meta.url), "utf8");
    assert.doesNotMatch(source, /hyperapp|showdown|highlight/);
  }
});

test("the lock file names no registry host", () => {
  const lock = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8"));
  const packages = Object.values(lock.packages);
  assert.ok(packages.filter((one) => one.integrity).length > 10);
  assert.deepEqual(
    packages.filter((one) => one.resolved !== undefined),
    [],
  );
});
