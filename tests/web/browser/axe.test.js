import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { openPage, reopenPage, watchedPage } from "../lib/browser.js";
import { quiet, setStage, settled } from "../lib/stage.js";

const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const stage = setStage({ shared: true });
const { skip } = stage;

const SCREENS = [
  ["flow", "#/runs/demo.fix-slug"],
  ["step", "#/runs/demo.fix-slug?op=o20"],
  ["sequence", "#/runs/demo.yesterday?view=sequence"],
  ["timeline", "#/runs/demo.yesterday?view=timeline"],
  ["changes", "#/runs/demo.yesterday?view=changes"],
  ["events", "#/runs/demo.yesterday?view=events"],
  ["asking", "#/runs/demo.ask-first"],
  ["refused", "#/runs/demo.not-shut-in"],
  ["landing", "#/"],
  ["history", "#/history", (page) => page.click(".history-line:has-text('yesterday')")],
  [
    "compose",
    "#/compose",
    async (page) => {
      await page.fill("#compose-task", "a **b**\n\n```python\n# note\nimport os\nprint(len('x'), 1)\n```");
      await page.click(".guild-option:has-text('repair')");
      await page.selectOption("#compose-source", "git");
      await page.click("text=Start the run");
      await page.waitForSelector(".compose .field-error");
    },
  ],
  ["result", "#/runs/demo.yesterday", (page) => page.click(".run-acts >> text=Result")],
  ["stop", "#/runs/demo.fix-slug", (page) => page.click(".run-acts >> text=Stop")],
  ["question", "#/runs/demo.ask-first", (page) => page.click(".ask .button")],
  ["approval", "#/runs/demo.wants-approval", (page) => page.click(".ask .button")],
  ["interrupt", "#/runs/demo.fix-slug", (page) => page.click(".run-acts >> text=Interrupt")],
  ["keys", "#/runs/demo.fix-slug", (page) => page.keyboard.press("?")],
  ["sign-in", "#/", (page) => signedOut(page)], // last: nobody signs in again
];

async function broken(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    });
    return violations.flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map((node) => `${id}: ${node.target.join(" ")} ${node.any[0]?.message ?? node.failureSummary}`),
    );
  });
}

test("positive control: axe sees a button without a name", { skip }, async () => {
  const { page, context } = await watchedPage(stage.browser, stage.server.url);
  await openPage(page, `${stage.server.url}/#/`, ".topbar");
  await page.evaluate(() => document.querySelector("main").append(document.createElement("button")));
  assert.match((await broken(page)).join(), /button-name/);
  await context.close();
});

async function signedOut(page) {
  stage.server.backend.state.signedIn = false;
  await reopenPage(page, "#token");
}

/** Shows one screen in a page that has shown others: from the landing page on, where nothing is open or chosen. */
async function show(page, hash) {
  await page.goto(`${stage.server.url}/#/`);
  await page.waitForSelector(".landing");
  await page.goto(`${stage.server.url}/${hash}`);
  await page.waitForSelector(hash.includes("runs") ? ".run-head" : "main");
}

for (const theme of ["light", "dark"]) {
  for (const width of [1440, 360]) {
    test(`WCAG 2.2 AA, ${theme}, ${width} px: every screen`, { skip }, async () => {
      const failures = [];
      stage.server.backend.state.signedIn = true;
      const options = { viewport: { width, height: 860 }, colorScheme: theme, reducedMotion: "reduce" };
      const watched = await stage.open("#/", options);
      const { page } = watched;
      for (const [name, hash, act] of SCREENS) {
        await show(page, hash);
        await settled(page);
        await act?.(page);
        await page.evaluate(() => scrollTo(0, 0)); // what is half under the bar at the top is no fault of its size
        await settled(page);
        assert.equal(await page.getAttribute("html", "data-theme"), theme);
        failures.push(...(await broken(page)).map((one) => `${name}: ${one}`));
        assert.ok(
          await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1),
          `${name} is wider than the window`,
        );
      }
      assert.deepEqual(failures, []);
      await quiet(watched);
    });
  }
}
