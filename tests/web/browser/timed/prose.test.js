import { test } from "node:test";
import assert from "node:assert/strict";
import { watchedPage } from "../../lib/browser.js";
import { setStage } from "../../lib/stage.js";
import { startProseServer } from "../../lib/prose-server.js";
import { HEADERS } from "../../serve.mjs";
import { corporaMissing, hostileTexts, ownCases, xssCases } from "../../lib/corpora.js";
import { textOf } from "../../lib/cases.js";
import { violationsSource } from "../../lib/allowlist.js";

const stage = setStage({ shared: true, start: startProseServer });
const { skip } = stage;
const skipCorpora = skip || corporaMissing;

async function open() {
  const watched = await watchedPage(stage.browser, stage.server.url);
  await watched.page.goto(`${stage.server.url}/tests/prose.html`);
  await watched.page.waitForFunction(() => typeof window.showProse === "function");
  await watched.page.evaluate(() => {
    window.pwned = () => {
      window.scriptRan = true;
    };
  });
  return watched;
}

async function assertQuiet({ page, log }) {
  assert.deepEqual(log, { foreign: [], violations: [], scripts: [], errors: [] });
  assert.equal(await page.evaluate(() => window.scriptRan), undefined);
}

const brokenIn = (page, selector) =>
  page.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})].flatMap(${violationsSource})`);

test("C9: the page is served with the promised headers", { skip }, async () => {
  const response = await fetch(`${stage.server.url}/tests/prose.html`);
  for (const [name, value] of Object.entries(HEADERS)) assert.equal(response.headers.get(name), value);
});

test("positive control: CSP and Trusted Types are on, and the watcher sees what it must", { skip }, async () => {
  const { page, log, context } = await open();
  const blocked = await page.evaluate(() => {
    try {
      document.createElement("div").innerHTML = "<b>x</b>";
      return "allowed";
    } catch (error) {
      return error.name;
    }
  });
  assert.equal(blocked, "TypeError");
  await page.evaluate(() => {
    const image = document.createElement("img");
    image.src = "https://evil.example/x";
    document.body.append(image);
    window.pwned();
  });
  await page.waitForTimeout(100);
  assert.ok(log.violations.length >= 2, JSON.stringify(log));
  assert.equal(await page.evaluate(() => window.scriptRan), true);
  await context.close();
});

test("positive control: honest Markdown is formatted and highlighted", { skip }, async () => {
  const watched = await open();
  const [entry] = await watched.page.evaluate(() =>
    window.showProse(["# Title\n\n```python\nimport os\n```\n\n|a|b|\n|--|--|\n|1|2|"]),
  );
  assert.deepEqual(entry, { state: "done", reason: "" });
  assert.equal(await watched.page.locator(".prose h1").textContent(), "Title");
  assert.equal(await watched.page.locator(".prose .hljs-keyword").textContent(), "import");
  assert.equal(await watched.page.locator(".prose td").count(), 2);
  await assertQuiet(watched);
  await watched.context.close();
});

test("C1: the whole public corpus, as Markdown and as HTML", { skip: skipCorpora }, async () => {
  const watched = await open();
  const payloads = xssCases().map((one) => one.payload);
  for (let at = 0; at < payloads.length; at += 100) {
    const some = payloads.slice(at, at + 100);
    await watched.page.evaluate((texts) => window.showProse(texts), some);
    assert.deepEqual(await brokenIn(watched.page, ".prose"), []);
    await watched.page.evaluate((texts) => {
      for (const text of texts) window.showHtml(text);
      return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    }, some);
    assert.deepEqual(await brokenIn(watched.page, "[id^=direct] .prose"), []);
    await watched.page.evaluate(() => document.querySelectorAll("[id^=direct]").forEach((node) => node.remove()));
  }
  await assertQuiet(watched);
  await watched.context.close();
});

test("C1, C2: hostile strings", { skip: skipCorpora }, async () => {
  const watched = await open();
  for (const { id, text } of hostileTexts()) {
    const [entry] = await watched.page.evaluate((one) => window.showProse([one]), text);
    assert.ok(["done", "fallback"].includes(entry.state), id);
    assert.deepEqual(await brokenIn(watched.page, ".prose:not(.prose--text)"), [], id);
    assert.doesNotMatch(await watched.page.locator("main").textContent(), /[\u0000-\u0008\u001b\u007f-\u009f]/, id);
  }
  await assertQuiet(watched);
  await watched.context.close();
});

test("C1, C4: the project's own cases", { skip }, async () => {
  const watched = await open();
  for (const one of ownCases().filter((each) => !each.slow)) {
    const [entry] = await watched.page.evaluate((text) => window.showProse([text]), textOf(one));
    assert.equal(entry.state, "done", one.id);
    assert.deepEqual(await brokenIn(watched.page, ".prose"), [], one.id);
  }
  await watched.page.evaluate(() =>
    window.showProse(["[pay](https://good.example@evil.example/) [x](//evil.example/) [y](</\\evil.example/>)"]),
  );
  assert.equal(
    (await watched.page.locator(".link-host").allTextContents()).filter((host) => host === " (evil.example)").length,
    3,
  );
  await assertQuiet(watched);
  await watched.context.close();
});

/** Shows one text and measures: time until it is settled, and the longest task the main thread had. */
const measured = (page, text) =>
  page.evaluate(async (one) => {
    const long = [];
    const observer = new PerformanceObserver((list) => long.push(...list.getEntries().map((entry) => entry.duration)));
    observer.observe({ entryTypes: ["longtask"] });
    const shown = new Promise((resolve) => {
      const poll = () => (document.querySelector(".prose") ? resolve(performance.now()) : setTimeout(poll, 1));
      poll();
    });
    const started = performance.now();
    const [entry] = await window.showProse([one]);
    const settled = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 60));
    observer.disconnect();
    return {
      ...entry,
      settledMs: settled - started,
      shownMs: (await shown) - started,
      longestMs: Math.max(0, ...long),
    };
  }, text);

test("C5, M12: slow prose is text by 600 ms and never holds the main thread", { skip }, async () => {
  const { page, context, log } = await open();
  await page.evaluate(() => window.showProse(["warm"]));
  const outside = corporaMissing ? [] : hostileTexts().filter((one) => /redos|stack|hl-/.test(one.id));
  const cases = [
    ...ownCases()
      .filter((one) => one.slow)
      .map((one) => [one.id, textOf(one)]),
    ...outside.map((one) => [one.id, one.text]),
  ];
  let fellBack = 0;
  for (const [id, text] of cases) {
    await page.evaluate(() => window.showProse([]));
    const seen = await measured(page, text);
    if (seen.state === "fallback") fellBack += 1;
    assert.ok(seen.shownMs <= 200, `${id}: text shown after ${seen.shownMs} ms`);
    assert.ok(seen.settledMs <= 700, `${id}: settled after ${seen.settledMs} ms (${seen.reason})`);
    assert.ok(seen.longestMs <= 200, `${id}: a task of ${seen.longestMs} ms`);
    if (process.env.SHOW_MEASURES) console.log(id, JSON.stringify(seen));
  }
  assert.ok(fellBack >= 4, "the slow inputs must really be slow");
  const [entry] = await page.evaluate(() => window.showProse(["after **all** that"]));
  assert.equal(entry.state, "done");
  assert.deepEqual(log, { foreign: [], violations: [], scripts: [], errors: [] });
  await context.close();
});

test("50,000 nested elements neither overflow nor get lost", { skip }, async () => {
  const { page, context } = await open();
  const seen = await page.evaluate(async () => {
    const { sanitize } = await import("/src/markdown.js");
    const inert = document.implementation.createHTMLDocument("");
    let at = inert.body;
    for (let i = 0; i < 50000; i += 1) at = at.appendChild(inert.createElement("em"));
    at.append("deep");
    const { nodes, truncated } = sanitize(inert.body);
    let depth = 0;
    let node = nodes[0];
    for (; typeof node !== "string"; node = node.children[0]) depth += 1;
    return { truncated, depth, text: node };
  });
  assert.deepEqual(seen, { truncated: false, depth: 100, text: "deep" });
  await context.close();
});

test("a formatter that cannot be loaded leaves readable text", { skip }, async () => {
  const { page, context, log } = await watchedPage(stage.browser, stage.server.url);
  await page.route("**/vendor/showdown.js", (route) => route.abort());
  await page.goto(`${stage.server.url}/tests/prose.html`);
  await page.waitForFunction(() => typeof window.showProse === "function");
  const [entry] = await page.evaluate(() => window.showProse(["# still <b>readable</b>"]));
  assert.equal(entry.state, "fallback");
  assert.match(await page.locator(".prose--text").textContent(), /# still <b>readable<\/b>/);
  assert.deepEqual(log.scripts, []);
  await context.close();
});
