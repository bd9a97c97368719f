// Finds the outside corpora (never part of this repository) and the project's own cases.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const REPO = fileURLToPath(new URL("../../../", import.meta.url));
const FOLDER = process.env.GUILDHALL_CORPORA ?? join(REPO, "../shared/corpora");

/** false, or the reason for which tests on outside data are skipped. */
export const corporaMissing = existsSync(join(FOLDER, "xss"))
  ? false
  : "outside corpora not found (../shared/corpora or GUILDHALL_CORPORA)";

const readJson = (...parts) => JSON.parse(readFileSync(join(...parts), "utf8"));

/** Every sanitizer payload of the public suites: [{source, title, payload}]. */
export function xssCases() {
  if (corporaMissing) return [];
  return readdirSync(join(FOLDER, "xss"))
    .filter((name) => name.endsWith(".json"))
    .sort()
    .flatMap((name) => readJson(FOLDER, "xss", name).cases.map((one) => ({ source: name, ...one })))
    .filter((one) => typeof one.payload === "string");
}

export const allowlistGoldens = () => (corporaMissing ? [] : readJson(FOLDER, "allowlist-golden.json").goldens);
export const hostileTexts = () => (corporaMissing ? [] : readJson(FOLDER, "hostile-text.json").cases);

/** The project's own cases, always there. */
export const ownCases = () => readJson(REPO, "tests/web/fixtures/hostile-markdown.json").cases;
