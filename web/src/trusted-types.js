// Guards the two places where a string becomes a document or a script address. Nothing else in the console may.
// The policies never leave this module; the CSP names exactly these two.
import { bodyOf } from "./dom-read.js";

const WORKER_URL = new URL("./markdown-worker.js", import.meta.url).href;

const factory = globalThis.trustedTypes;
const parsePolicy = factory?.createPolicy("guildhall-parse", { createHTML: (html) => html });
const workerPolicy = factory?.createPolicy("guildhall-worker", { createScriptURL: () => WORKER_URL });

/** The body of an inert document: parsing runs no script and loads nothing. Its nodes are read, never adopted. */
export function parseInertBody(html) {
  const input = parsePolicy ? parsePolicy.createHTML(html) : html;
  return bodyOf(new DOMParser().parseFromString(input, "text/html"));
}

/** A new Worker at the one constant address. Throws where workers are missing. */
export function startMarkdownWorker() {
  const url = workerPolicy ? workerPolicy.createScriptURL("") : WORKER_URL;
  return new Worker(url, { type: "module", name: "markdown" });
}
