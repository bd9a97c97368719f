import { test } from "node:test";
import assert from "node:assert/strict";
import { openPage, watchedPage } from "../../lib/browser.js";
import { setStage } from "../../lib/stage.js";
import { startConsoleServer } from "../../lib/console-server.js";
import { hostileTexts, ownCases, xssCases } from "../../lib/corpora.js";
import { textOf } from "../../lib/cases.js";
import { dealer, hostileEvents, hostileSummary } from "../../lib/hostile.js";
import { failedRun, goodRun, longRun } from "../../../../web/dev/frames.js";

const stage = setStage({
  shared: true,
  start: () => startConsoleServer({ upTo: 1000, longCount: 40000, nowMs: Date.now() }),
});
const { skip } = stage;

const texts = () => [
  ...ownCases()
    .filter((one) => !one.slow)
    .map(textOf),
  ...xssCases().map((one) => one.payload),
  ...hostileTexts().map((one) => one.text),
];

/** The good run, which fails at its end, with an error raised on the way; every text of it hostile. */
function hostileRun(next) {
  const events = [...goodRun().slice(0, -1), ...failedRun(goodRun()[0].run).slice(-2)];
  return hostileEvents(events, next).map((event, at) => ({ ...event, seq: at + 1, run: goodRun()[0].run }));
}

const OURS_ARE_NONE =
  "#app :is(img, script, iframe, object, embed, style, form, video, audio, meta, base, template, foreignObject, animate)";
const VIEWS = ["flow", "sequence", "timeline", "changes", "events"];

test(
  "C1: a whole hostile run in every view: no script, no foreign request, no violation, nothing but our elements",
  { skip },
  async () => {
    const deck = dealer(texts());
    const { backend } = stage.server;
    backend.replaceEvents("demo.fix-slug", hostileRun(deck.next));
    Object.assign(backend.runs.get("demo.fix-slug").summary, hostileSummary(deck.next), { id: "demo.fix-slug" });
    const { page, log, context } = await watchedPage(stage.browser, stage.server.url);
    await page.addInitScript(() => {
      window.pwned = () => window.reportViolation("a script of the run ran", "");
      window.alert = window.pwned;
    });
    for (const view of VIEWS) {
      await openPage(page, `${stage.server.url}/#/runs/demo.fix-slug?view=${view}`, ".watch");
      await page.waitForTimeout(150);
      await page.keyboard.press("p");
      for (let step = 0; step < 12; step += 1) {
        await page.keyboard.press("j");
        await page.waitForTimeout(40);
      }
      assert.equal(await page.locator(OURS_ARE_NONE).count(), 0, view);
      assert.equal(
        await page.locator("#app :is([onerror], [onload], [onclick], [srcdoc], [style*=url])").count(),
        0,
        view,
      );
    }
    await page.click(".run-acts >> text=Result");
    await page.waitForSelector(".modal .section--error .prose-field");
    await page.goto("about:blank");
    const former = dealer(texts(), { stride: Math.ceil(texts().length / 11) });
    backend.state.former = Array.from({ length: 560 }, (_, at) => hostileSummary(former.next, { uid: `former-${at}` }));
    await openPage(page, `${stage.server.url}/#/history`, ".history-line >> nth=500");
    await page.click(".history-line >> nth=0");
    await page.waitForSelector(".history-open .prose-field");
    const shown = new Set((await page.textContent(".history-list")).match(/k[0-9]+k/g));
    const said = new Set(former.dealt.filter(({ mark }) => shown.has(mark)).map(({ text }) => text));
    assert.equal(said.size, new Set(texts()).size, "the whole corpus stood in names, labels and summaries of runs");
    assert.equal(await page.locator(OURS_ARE_NONE).count(), 0);
    backend.state.former = [];
    assert.deepEqual(log, { foreign: [], violations: [], scripts: [], errors: [] });
    await page.evaluate(() => {
      window.pwned();
      new Image().src = "http://127.0.0.1:9/control";
    });
    await page.waitForTimeout(100);
    const found = log.violations.join("\n");
    assert.ok(/a script of the run ran/.test(found) && /img-src/.test(found), `control: both would be seen: ${found}`);
    await context.close();
  },
);

test(
  "M9, M11, C5: 40,000 events open in 2 s, stay under 3,000 nodes and never hold the main thread",
  { skip },
  async () => {
    const { page, log, context } = await watchedPage(stage.browser, stage.server.url);
    await openPage(page, `${stage.server.url}/#/`, ".topbar");
    await page.evaluate(() => {
      window.long = [];
      new PerformanceObserver((list) => window.long.push(...list.getEntries().map((entry) => entry.duration))).observe({
        entryTypes: ["longtask"],
      });
    });
    const opened = await page.evaluate(async () => {
      const started = performance.now();
      location.hash = "#/runs/demo.long";
      while (!document.querySelector(".row")) await new Promise((resolve) => setTimeout(resolve, 10));
      return performance.now() - started;
    });
    const nodes = () => page.evaluate(() => document.querySelectorAll("*").length);
    assert.ok(opened <= 2000, `first view after ${opened} ms`); // the fixture server folds 40,000 events in this time too
    assert.ok((await nodes()) <= 3000, String(await nodes()));
    await page.evaluate(() => {
      window.long = [];
    });
    for (const view of VIEWS) {
      await page.goto(`${stage.server.url}/#/runs/demo.long?view=${view}`);
      await page.waitForSelector(`.stage--${view}`);
      await page.waitForTimeout(250);
      assert.ok((await nodes()) <= 3000, `${view}: ${await nodes()} nodes`);
    }
    await page.goto(`${stage.server.url}/#/runs/demo.long`);
    await page.waitForSelector(".stage--flow");
    await page.evaluate(() => {
      window.long = [];
    });
    for (const top of [0, 90000, 300000, 500000]) {
      await page.evaluate((at) => {
        document.querySelector(".activity-scroll").scrollTop = at;
      }, top);
      await page.waitForTimeout(80);
    }
    const longest = await page.evaluate(() => Math.max(0, ...window.long));
    if (process.env.SHOW_MEASURES) console.log({ opened, longest, nodes: await nodes() });
    assert.ok(longest <= 100, `a task of ${longest} ms while scrolling`);
    assert.deepEqual(log.errors, []);
    await context.close();
  },
);

/** A function that tells the main thread's CPU time in milliseconds: other processes do not count into it. */
async function cpuClock(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find((one) => one.name === "TaskDuration").value * 1000;
  };
}

test("M11: live events on a run of 40,000 keep the frames short", { skip }, async () => {
  const { page, log, context } = await watchedPage(stage.browser, stage.server.url);
  await openPage(page, `${stage.server.url}/#/runs/demo.long`, ".chip--live");
  const seq = stage.server.backend.runs.get("demo.long").events.length;
  const more = longRun(seq + 400, "uid-long").slice(seq);
  await page.evaluate(() => {
    window.gaps = [];
    window.long = [];
    new PerformanceObserver((list) => window.long.push(...list.getEntries().map((one) => one.duration))).observe({
      entryTypes: ["longtask"],
    });
    let last = performance.now();
    const frame = (now) => {
      window.gaps.push(now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  const spent = await cpuClock(page);
  const before = await spent();
  for (let at = 0; at < more.length; at += 10) {
    stage.server.backend.append("demo.long", more.slice(at, at + 10));
    await page.waitForTimeout(100);
  }
  await page.waitForFunction(
    (last) => document.querySelector(".replay-at").textContent.startsWith(last),
    (seq + more.length).toLocaleString("en"),
  );
  const perUpdate = ((await spent()) - before) / (more.length / 10);
  const { p95, longest } = await page.evaluate(() => ({
    p95: window.gaps.sort((a, b) => a - b)[Math.floor(window.gaps.length * 0.95)],
    longest: Math.max(0, ...window.long),
  }));
  if (process.env.SHOW_MEASURES) console.log({ p95, longest, perUpdate });
  assert.ok(perUpdate <= 33, `an update costs ${perUpdate} ms of the main thread's own time`);
  assert.ok(longest <= 200, `a task of ${longest} ms`);
  assert.ok(p95 <= 100, `P95 frame ${p95} ms`); // by the clock, on a machine shared with others; the target is above
  assert.deepEqual(log.errors, []);
  await context.close();
});
