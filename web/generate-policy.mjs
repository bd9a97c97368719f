// Writes src/markdown-policy.js from src/markdown-policy.json: a browser cannot import JSON everywhere yet.
// `node web/generate-policy.mjs` writes, `--check` only compares and exits 1 on a difference.
import { readFileSync, writeFileSync } from "node:fs";

const source = new URL("./src/markdown-policy.json", import.meta.url);
const target = new URL("./src/markdown-policy.js", import.meta.url);

export function policyModule(json) {
  return `// Generated from markdown-policy.json by generate-policy.mjs. Do not edit.\nexport const POLICY = ${JSON.stringify(JSON.parse(json), null, 2)};\n`;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const wanted = policyModule(readFileSync(source, "utf8"));
  if (process.argv.includes("--check")) {
    if (readFileSync(target, "utf8") !== wanted) {
      console.error("web/src/markdown-policy.js is stale: run `node web/generate-policy.mjs`");
      process.exit(1);
    }
  } else writeFileSync(target, wanted);
}
