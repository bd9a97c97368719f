// Notifications of the system: only after a click and the person's yes, only while nobody looks, and back by a click.
import { test } from "node:test";
import assert from "node:assert/strict";
import { openPage, reopenPage, watchedPage } from "../lib/browser.js";
import { quiet, setStage } from "../lib/stage.js";

const stage = setStage();
const { skip } = stage;

/** A page that remembers the notifications it shows; `looks` is whether somebody looks at it. */
async function open({ looks, allowed = true }) {
  const watched = await watchedPage(stage.browser, stage.server.url);
  if (allowed) await watched.context.grantPermissions(["notifications"]);
  await watched.page.addInitScript((focused) => {
    window.shown = [];
    const Real = window.Notification;
    window.Notification = class extends Real {
      constructor(title, options) {
        super(title, options);
        window.shown.push({ title, body: options.body, click: () => this.onclick?.(new Event("click")) });
      }
    };
    document.hasFocus = () => focused;
  }, looks);
  await watched.page.clock.install();
  await openPage(watched.page, `${stage.server.url}/#/`, ".landing-row");
  return watched;
}

const bell = (page) => page.getByRole("button", { name: "Notify me when a run needs me or fails" });
const shown = (page) => page.evaluate(() => window.shown.map(({ title, body }) => `${title}\n${body}`));

/** Lets a run begin to wait, and waits until the page has heard of it. */
async function begin(page, name, count) {
  const { summary } = stage.server.backend.runs.get(`demo.${name}`);
  stage.server.backend.runs.get(`demo.${name}`).summary = { ...summary, awaiting: count };
  await page.clock.fastForward(5000); // the list of runs is asked for again
  await page.waitForSelector(`.needs-you b:has-text('${count + 2}')`); // two wait from the beginning
}

test("nobody is called before the switch is on; then whoever looks away is, once, and a click leads to the run", { skip }, async () => {
  const watched = await open({ looks: false });
  const { page } = watched;
  assert.equal(await bell(page).getAttribute("aria-pressed"), "false");
  await begin(page, "provider-gone", 7);
  assert.deepEqual(await shown(page), [], "not asked for");
  await bell(page).click();
  await page.waitForSelector("[aria-pressed=true]");
  await begin(page, "provider-gone", 8);
  assert.deepEqual(await shown(page), ["provider-gone needs you\n8 things wait.\ndemo/provider-gone"]);
  await page.evaluate(() => window.shown[0].click());
  await page.waitForFunction(() => location.hash === "#/runs/demo.provider-gone");
  await reopenPage(page, "[aria-pressed=true]"); // the choice is remembered
  await quiet(watched);
});

test("whoever looks at the page is not called", { skip }, async () => {
  const watched = await open({ looks: true });
  const { page } = watched;
  await bell(page).click();
  await page.waitForSelector("[aria-pressed=true]");
  await begin(page, "provider-gone", 7);
  assert.deepEqual(await shown(page), []);
  await quiet(watched);
});

test("where the browser refuses, that is said and nothing is switched on", { skip }, async () => {
  const watched = await open({ looks: false, allowed: false });
  const { page } = watched;
  await bell(page).click();
  await page.waitForSelector(".toast:has-text('Allow them in its settings')");
  assert.equal(await bell(page).getAttribute("aria-pressed"), "false");
  await quiet(watched);
});
