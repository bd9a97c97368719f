import { test } from "node:test";
import assert from "node:assert/strict";
import { openPage, watchedPage } from "../lib/browser.js";
import { quiet, setStage } from "../lib/stage.js";
import { goodRun } from "../../../web/dev/frames.js";

const stage = setStage();
const { skip } = stage;

const open = (hash = "#/runs/demo.fix-slug", options = {}) => stage.open(hash, options);

/** Waits until the first match of a selector shows the text: what was typed is drawn a frame later. */
async function shows(page, selector, pattern) {
  for (let tries = 0; ; tries += 1) {
    const text = await page.textContent(selector);
    if (pattern.test(text)) return;
    if (tries === 100) assert.match(text, pattern);
    await page.waitForTimeout(20);
  }
}

test(
  "sign-in: a wrong token is refused in words, a right one opens the console and is kept nowhere",
  { skip },
  async () => {
    stage.server.backend.state.signedIn = false;
    const watched = await open("#/");
    const { page } = watched;
    await page.fill("#token", "wrong");
    await page.click(".signin-card .button");
    await page.waitForSelector(".field-error");
    await shows(page, ".field-error", /did not accept this token/);
    await page.fill("#token", "good-token");
    await page.click(".signin-card .button");
    await page.waitForSelector(".topbar");
    assert.equal(
      await page
        .evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))
        .then((kept) => kept.includes("good-token")),
      false,
    );
    assert.equal(
      stage.server.requests.some((url) => url.includes("good-token")),
      false,
    );
    await page.click(".user");
    await page.waitForSelector("#token");
    await quiet(watched);
  },
);

test("Watch: the Guild is drawn, live events move the view, the end shows the result", { skip }, async () => {
  const watched = await open();
  const { page } = watched;
  await page.waitForSelector(".chip--live");
  assert.equal(await page.locator(".graph-node").count(), 12);
  await shows(page, ".now", /Coder is working/);
  const before = await page
    .locator(".graph-node")
    .evaluateAll((nodes) => nodes.map((node) => node.getAttribute("transform")));
  stage.server.backend.advance(4);
  await page.waitForFunction(() => document.querySelector(".now").textContent.includes("Reviewer"));
  await shows(page, ".tab.is-here ~ .tab >> text=Changes", /3/);
  stage.server.backend.advance(100);
  await page.waitForSelector(".modal--result");
  await shows(page, ".modal", /agent's own summary/);
  await page.waitForSelector(".modal .prose table");
  assert.equal(await page.locator(".modal .prose .hljs-keyword").count(), 1);
  assert.deepEqual(
    await page.locator(".graph-node").evaluateAll((nodes) => nodes.map((node) => node.getAttribute("transform"))),
    before,
  );
  await page.keyboard.press("Escape");
  await page.waitForSelector(".modal", { state: "detached" });
  await page.waitForSelector(".chip:has-text('Ended')");
  assert.equal(await page.locator(".graph-edge--active, .node-pulse").count(), 0, "nothing moves once it has ended");
  await quiet(watched);
});

test(
  "inspector: hover opens, the pointer may move into the card, click pins, the address remembers",
  { skip },
  async () => {
    const watched = await open();
    const { page } = watched;
    await page.hover('[data-role="coder"]');
    await page.waitForSelector(".hover-card");
    const card = await page.locator(".hover-card").boundingBox();
    await page.mouse.move(card.x + 40, card.y + 20, { steps: 4 });
    await page.waitForTimeout(500);
    assert.equal(await page.locator(".hover-card").count(), 1, "stays while the pointer is on it");
    assert.equal(await page.locator(".hover-card button, .hover-card a").count(), 0);
    await page.mouse.move(5, 700);
    await page.waitForSelector(".hover-card", { state: "detached" });
    await page.click(".row:has-text('python -m pytest -q') >> nth=0");
    await page.waitForSelector(".inspector h2:has-text('Run shell')");
    await page.waitForSelector(".inspector .data--json");
    await shows(page, ".inspector", /1 failed, 8 passed/);
    const link = page.url();
    assert.match(link, /op=o\d+/);
    const second = await open(link.slice(link.indexOf("#")));
    await second.page.waitForSelector(".inspector h2:has-text('Run shell')");
    await second.context.close();
    await page.keyboard.press("Escape");
    assert.doesNotMatch(page.url(), /op=/);
    await quiet(watched);
  },
);

test(
  "stop: asks first, focus on keeping, then shows the end only when it comes back as an event",
  { skip },
  async () => {
    const watched = await open();
    const { page } = watched;
    await page.click(".run-acts >> text=Stop");
    await page.waitForFunction(() => document.activeElement?.textContent.includes("Keep it running"));
    await page.keyboard.press("Escape");
    assert.deepEqual(stage.server.backend.state.acts, []);
    await page.click(".run-acts >> text=Stop");
    await page.click("text=Stop the run");
    await page.waitForSelector(".toast");
    assert.deepEqual(
      stage.server.backend.state.acts.map((act) => Object.keys(act)[0]),
      ["cancel"],
    );
    await page.waitForSelector(".status--cancelled");
    await quiet(watched);
  },
);

test("interrupt sends abort with the person's words, shown back as text only", { skip }, async () => {
  const watched = await open();
  const { page } = watched;
  await page.click(".run-acts >> text=Interrupt");
  await page.check(".intent input[value=abort]");
  await page.fill("#interrupt-message", "<img src=x onerror=alert(1)> wrong branch");
  await page.click("text=Abort the run");
  await page.waitForSelector(".modal--result");
  const { key, ...sent } = stage.server.backend.state.acts[0].interrupt;
  assert.deepEqual(sent, { intent: "abort", message: "<img src=x onerror=alert(1)> wrong branch" });
  assert.match(key, /^[0-9a-f]{32}$/);
  assert.equal(await page.locator("img").count(), 0);
  await quiet(watched);
});

test(
  "a cut stream is resumed: the view equals a fresh load, the state of the connection is shown",
  { skip },
  async () => {
    const watched = await open();
    const { page } = watched;
    await page.waitForSelector(".chip--live");
    for (let round = 0; round < 3; round += 1) {
      stage.server.cutStreams();
      stage.server.backend.advance(2);
      await page.waitForSelector(".chip--live");
    }
    await page.waitForFunction(() => document.querySelector(".replay-at").textContent === "40 / 40");
    const picture = (one) =>
      one.evaluate(() =>
        [".flow-svg", ".activity-head", ".row:last-child", ".plan"].map(
          (part) => document.querySelector(part).textContent,
        ),
      );
    const seen = await picture(page);
    const fresh = await open();
    await fresh.page.waitForFunction(() => document.querySelector(".replay-at")?.textContent === "40 / 40");
    await fresh.page.waitForFunction(
      (last) => document.querySelector(".row:last-child")?.textContent === last,
      seen[2],
    );
    assert.deepEqual(await picture(fresh.page), seen);
    await fresh.context.close();
    stage.server.control.refuseStreams = true;
    stage.server.cutStreams();
    await page.waitForSelector(".chip:has-text('Polling'), .chip:has-text('Reconnecting')");
    stage.server.backend.advance(3);
    await page.waitForFunction(() => document.querySelector(".replay-at").textContent === "43 / 43", null, {
      timeout: 20000,
    });
    assert.deepEqual(watched.log.violations, []);
    await watched.context.close();
  },
);

test(
  "streams that a proxy holds open are never called live: the console polls and tries them again",
  { skip },
  async () => {
    stage.server.control.holdStreams = true;
    const watched = await open();
    const { page } = watched;
    await page.waitForSelector(".chip:has-text('Polling')");
    assert.equal(await page.locator(".chip--live").count(), 0);
    stage.server.backend.advance(3);
    await page.waitForFunction(() => document.querySelector(".replay-at").textContent === "37 / 37");
    assert.equal(stage.server.requests.filter((url) => /^\/api\/.*\/flow/.test(url)).length, 1);
    await quiet(watched);
  },
);

test("one stream per tab, closed when one goes elsewhere", { skip }, async () => {
  const watched = await open();
  const { page } = watched;
  await page.waitForSelector(".chip--live");
  await page.click("text=History");
  await page.waitForSelector(".history-line");
  await page.click("text=Watch");
  await page.waitForSelector(".chip--live");
  assert.equal(stage.server.control.opened, 2);
  await quiet(watched);
});

test("keys: every promised one does what it says", { skip }, async () => {
  const watched = await open();
  const { page } = watched;
  await page.waitForSelector(".chip--live");
  await page.keyboard.press("e");
  await page.waitForSelector(".row.is-active.row--error");
  await page.keyboard.press("j");
  await page.waitForFunction(() => !document.querySelector(".row.is-active")?.classList.contains("row--error"));
  await page.keyboard.press("k");
  await page.waitForSelector(".row.is-active.row--error");
  for (const [key, view] of [
    ["2", "sequence"],
    ["3", "timeline"],
    ["4", "changes"],
    ["5", "events"],
    ["1", "flow"],
  ]) {
    await page.keyboard.press(key);
    await page.waitForSelector(`.stage--${view}`);
  }
  await page.keyboard.press("/");
  await page.waitForFunction(() => document.activeElement?.id === "find");
  await page.keyboard.type("is:error");
  await page.waitForFunction(() => location.hash.includes("q=is%3Aerror"));
  await shows(page, ".activity-head", /1 of \d+ match/);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("p");
  await page.waitForSelector(".plan-items");
  await page.keyboard.press("?");
  await page.waitForSelector(".modal--keys");
  await page.keyboard.press("Escape");
  const theme = await page.getAttribute("html", "data-theme");
  await page.keyboard.press("t");
  assert.notEqual(await page.getAttribute("html", "data-theme"), theme);
  for (const [key, selector] of [
    ["h", ".history"],
    ["c", ".compose"],
    ["w", ".watch"],
  ]) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.waitForSelector(selector);
  }
  await quiet(watched);
});

test("replay: the bar shows the run as it was, and the address keeps the place", { skip }, async () => {
  const watched = await open("#/runs/demo.yesterday?at=6");
  const { page } = watched;
  await page.waitForFunction(() => document.querySelector(".now")?.textContent.includes("Planner is using List files"));
  await page.click('[aria-label="One event on"]');
  await page.waitForFunction(() => location.hash.includes("at=7"));
  await page.click('[aria-label="To the present"]');
  await page.waitForFunction(() => document.querySelector(".now").textContent === "");
  assert.doesNotMatch(page.url(), /at=/);
  await quiet(watched);
});

test("changes: the patch, files that will run are marked, the download is the api's", { skip }, async () => {
  const watched = await open("#/runs/demo.yesterday?view=changes");
  const { page } = watched;
  await page.waitForSelector(".diff-row--add");
  await shows(page, ".changes-head", /1 file will run/);
  assert.equal(await page.locator(".file-patch").count(), 3);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=Download patch")]);
  assert.equal(download.suggestedFilename(), "run.patch");
  await quiet(watched);
});

test("what a tool printed beyond what its event shows is the api's own file, of that step", { skip }, async () => {
  const { op } = goodRun().find((event) => event.blob);
  const watched = await open(`#/runs/demo.yesterday?op=${op}`);
  const { page } = watched;
  await page.waitForSelector(".inspector >> text=Longer output");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(".inspector >> text=Download")]);
  assert.equal(download.suggestedFilename(), "run.txt");
  assert.ok(stage.server.requests.some((url) => url.includes(`/operations/${op}/output`)));
  await quiet(watched);
});

test("the report is the api's own file, from the result and from History, for the run that is meant", { skip }, async () => {
  const watched = await open("#/runs/demo.yesterday");
  const { page } = watched;
  await page.click(".run-acts >> text=Result");
  const [first] = await Promise.all([page.waitForEvent("download"), page.click("text=Download report")]);
  assert.equal(first.suggestedFilename(), "run.html");
  await page.keyboard.press("Escape");
  await page.goto(`${stage.server.url}/#/history`);
  await page.click(".history-line:has-text('yesterday')");
  const [second] = await Promise.all([page.waitForEvent("download"), page.click(".history-acts >> text=Report")]);
  assert.equal(new URL(second.url()).pathname + new URL(second.url()).search, "/api/runs/demo.yesterday/report?uid=uid-old");
  await quiet(watched);
});

test("events: raw rows come page by page; History opens to task, result and error", { skip }, async () => {
  const watched = await open("#/runs/demo.yesterday?view=events");
  const { page } = watched;
  await page.waitForSelector(".event-row:has-text('run.started')");
  await page.goto(`${stage.server.url}/#/history`);
  await page.click(".history-line:has-text('provider-gone')");
  await page.waitForSelector(".section--error .prose strong");
  await shows(page, ".history-open", /answered 503 four times/);
  await page.click(".history-line:has-text('yesterday')");
  await page.waitForSelector(".history-open table");
  await page.fill("#find", "10 passed");
  await page.waitForFunction(() => document.querySelectorAll(".history-line").length < 3);
  await quiet(watched);
});

test(
  "Compose: problems are named at their field, the cluster checks, the run starts and is watched",
  { skip },
  async () => {
    const watched = await open("#/compose");
    const { page } = watched;
    await page.click("text=Start the run");
    await page.waitForFunction(() => document.querySelector(".compose .field-error") !== null);
    await page.fill("#compose-task", "Fix **slug**\n\n- small");
    await page.waitForSelector(".preview strong");
    await page.click(".guild-option:has-text('repair')");
    await page.waitForSelector(".role-card");
    await shows(page, ".reach", /acts outside only through Deploy service/);
    await page.selectOption("#compose-source", "archive");
    await page.fill("#compose-configMap", "textkit");
    await page.fill("#compose-dollars", "0.5");
    await shows(page, ".yaml", /configMap: textkit[\s\S]*costMicroUSD: 500000/);
    await page.fill("#compose-name", "taken");
    await page.click("text=Check with the cluster");
    await page.waitForSelector(".problem:has-text('The name is taken')");
    await page.fill("#compose-name", "");
    await page.click("text=Check with the cluster");
    await page.waitForSelector(".chip:has-text('accepts this run')");
    await page.click("text=Start the run");
    await page.waitForSelector(".watch");
    assert.deepEqual(
      stage.server.backend.state.acts.map((act) => act.dryRun),
      [true, false],
    );
    assert.equal(stage.server.backend.state.acts[1].create.spec.workspace.archive.configMap, "textkit");
    await quiet(watched);
  },
);

test("Run again is the same run, with what the form has no field for, and says so", { skip }, async () => {
  const watched = await open("#/runs/demo.yesterday");
  const { page } = watched;
  await page.click("text=Run again");
  await page.waitForSelector(".compose");
  assert.equal(await page.inputValue("#compose-gitSecret"), "textkit-read");
  assert.equal(await page.inputValue("#compose-deliver"), "branch");
  await shows(page, ".taken-over", /storage, depth, env, resources/);
  await shows(page, ".reach", /pushed to a new branch/);
  await shows(page, ".yaml", /depth: 50[\s\S]*deliver: branch\n[\s\S]*CI: "1"/);
  await page.check(".compose input[type=checkbox]");
  await shows(page, ".yaml", /private: true\n {2}deliver: none/);
  assert.equal(await page.inputValue("#compose-deliver"), "none");
  await page.click("text=Leave them out");
  await page.waitForSelector(".taken-over", { state: "detached" });
  await page.selectOption("#compose-source", "template");
  await page.fill("#compose-template", "golden");
  await shows(page, ".reach", /a copy of the claim golden/);
  await page.click("text=Start the run");
  await page.waitForSelector(".watch");
  const { spec } = stage.server.backend.state.acts.at(-1).create;
  assert.deepEqual(spec.workspace, { template: { claim: "golden" } });
  assert.deepEqual([spec.private, spec.deliver, "env" in spec], [true, "none", false]);
  await quiet(watched);
});

test("a run that waits, one that was refused and one that is not there say why", { skip }, async () => {
  const watched = await open("#/runs/demo.waiting");
  const { page } = watched;
  await page.waitForSelector(".why:has-text('first in line')");
  assert.equal(await page.locator(".graph-node").count(), 1 + 4 + 8, "the Guild is drawn before anything runs");
  await page.goto(`${stage.server.url}/#/runs/demo.not-shut-in`);
  await page.waitForSelector(".chip--bad:has-text('isolation NOT enforced')");
  await page.goto(`${stage.server.url}/#/runs/demo.nothing`);
  await page.waitForSelector(".problem:has-text('No such run')");
  await quiet(watched);
});

test("a session that ends while watching asks to sign in again and goes on where one was", { skip }, async () => {
  const watched = await open();
  const { page } = watched;
  await page.waitForSelector(".chip--live");
  stage.server.backend.state.signedIn = false;
  await page.waitForSelector("#token", { timeout: 15000 });
  await shows(page, ".field-error", /session is over/);
  await page.fill("#token", "good-token");
  await page.click(".signin-card .button");
  await page.waitForSelector(".chip--live");
  assert.match(page.url(), /demo\.fix-slug/);
  await quiet(watched);
});

test("title and icon say who needs a person", { skip }, async () => {
  const watched = await open();
  await watched.page.waitForFunction(() => document.title.startsWith("(2) fix-slug"));
  assert.match(await watched.page.getAttribute("link[rel=icon]", "href"), /alert/);
  await quiet(watched);
});

test("the development page runs the whole console with no server behind it", { skip }, async () => {
  const watched = await watchedPage(stage.browser, stage.server.url);
  const { page } = watched;
  await openPage(page, `${stage.server.url}/dev.html`, ".chip--live");
  assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector(".topbar")).display), "flex", "styled");
  const before = await page.textContent(".replay-at");
  await page.click("#step");
  await page.waitForFunction((was) => document.querySelector(".replay-at").textContent !== was, before);
  assert.equal(
    stage.server.requests.some((url) => url.startsWith("/api/")),
    false,
  );
  await quiet(watched);
});
