// docs/capabilities.md, "console", against what is true: the headers the page is served with, and its source.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";

const root = new URL("../../../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");

// What a page can reach beyond itself, by the word that names it. A power that is not in the table may not be used.
const POWERS = {
  BroadcastChannel: /\bBroadcastChannel\b/,
  EventSource: /\bEventSource\b/,
  Notification: /\bNotification\b/,
  RTCPeerConnection: /\bRTCPeerConnection\b/,
  SharedWorker: /\bSharedWorker\b/,
  WebSocket: /\bWebSocket\b/,
  WebTransport: /\bWebTransport\b/,
  Worker: /\bnew Worker\b/,
  XMLHttpRequest: /\bXMLHttpRequest\b/,
  caches: /\bcaches\./,
  clipboard: /\bclipboard\b/,
  cookie: /\bcookie(Store)?\b/,
  credentials: /\bnavigator\.credentials\b/,
  download: /\.download\b/,
  execCommand: /\bexecCommand\b/,
  fetch: /\bfetch\(/,
  files: /\b(FileReader|showOpenFilePicker|showSaveFilePicker|showDirectoryPicker)\b/,
  geolocation: /\bgeolocation\b/,
  history: /\bhistory\.(push|replace)State\b/,
  indexedDB: /\bindexedDB\b/,
  localStorage: /\blocalStorage\b/,
  mediaDevices: /\bmediaDevices\b/,
  objectURL: /\bcreateObjectURL\b/,
  open: /\bwindow\.open\b/,
  postMessage: /\bpostMessage\b/,
  sendBeacon: /\bsendBeacon\b/,
  serviceWorker: /\bserviceWorker\b/,
  sessionStorage: /\bsessionStorage\b/,
};

const code = (source) => source.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");

function sources(folder = new URL("web/src/", root), prefix = "") {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? sources(new URL(`${entry.name}/`, folder), `${prefix}${entry.name}/`)
      : entry.name.endsWith(".js")
        ? [[`${prefix}${entry.name}`, code(readFileSync(new URL(entry.name, folder), "utf8"))]]
        : [],
  );
}

function table(heading) {
  const text = `\n${read("docs/capabilities.md")}`.split(`\n${heading}\n`)[1].split(/\n#/)[0];
  const rows = text.split("\n").filter((line) => line.startsWith("|"));
  return rows.slice(2).map((row) => row.split("|").slice(1, -1).map((cell) => cell.trim()));
}

const bare = (cell) => cell.replaceAll("`", "");

test("the page is served with the policy the table names", () => {
  const policy = JSON.parse(read("web/headers.json"))["Content-Security-Policy"];
  const real = policy.split(";").map((part) => part.trim().split(/ (.*)/).slice(0, 2));
  const rows = table("### console: what the page may load and run").map((row) => row.map(bare));
  assert.deepEqual(rows, real);
  assert.ok(rows.length > 10);
});

function used(files) {
  return Object.entries(POWERS).flatMap(([power, pattern]) => {
    const names = files.filter(([, source]) => pattern.test(source)).map(([name]) => name);
    return names.length ? [[power, names.sort().join(", ")]] : [];
  });
}

test("the source uses the powers in the table and no other", () => {
  const news = used([["x.js", "navigator.sendBeacon(url)"]]);
  assert.deepEqual(news, [["sendBeacon", "x.js"]], "control: a new power is seen");
  const rows = table("### console: powers of the browser").map(([power, where]) => [bare(power), bare(where)]);
  assert.deepEqual(rows, used(sources()));
});

// Every call that names an address: a path in quotes or a template, or the part of a Run's route.
const CALLS =
  /(?:(?:request|call)\(\s*"(\w+)",|(send)\(state,|(?:download|EventSource)\()\s*([`"]\/api[^`"]*[`"]|runPath\([^,()]*(?:, (?:"[^"]*"|`[^`]*`))?)/g;
const ADDRESS = /[`"]\/api\/|\brunPath\(/g;

/** The source with an address that has a name of its own written as the request it is kept for. */
const called = (source) =>
  source
    .replace(/const path = (`\/api[^`]*`|runPath\([^;]*\));/g, 'request("GET", $1);')
    .replace(/path === "\/api[^"]*"/g, "");

function requests(files) {
  const found = new Set();
  for (const [, source] of files) {
    for (const [, method, send, address] of called(source).matchAll(CALLS)) {
      const rest = /, (?:"|`)([^"`]*)/.exec(address)?.[1] ?? "";
      const path = address.startsWith("runPath(") ? `/api/runs/{id}${rest}` : address.slice(1, -1);
      const open = path.replace(/\/\$\{[^}]*\}/g, "/{op}").replace(/[?$].*/, "");
      found.add(`${method ?? (send ? "POST" : "GET")} ${open}`);
    }
  }
  return [...found].sort();
}

test("the source asks for the addresses in the table and no other", () => {
  const news = requests([["x.js", 'request("PUT", "/api/else", Done)']]);
  assert.deepEqual(news, ["PUT /api/else"], "control: a new one is seen");
  const rows = table("### console: requests").map(([method, path]) => `${method} ${bare(path)}`);
  assert.deepEqual(rows, requests(sources()));
});

test("no address is named in a way that this test does not read", () => {
  const missed = (files) =>
    files.filter(([, source]) => ADDRESS[Symbol.match](called(source).replace(CALLS, ""))).map(([name]) => name);
  assert.deepEqual(missed([["x.js", 'ask("/api/else")']]), ["x.js"], "control");
  assert.deepEqual(missed(sources()), ["api.js"], "where runPath is made");
});
