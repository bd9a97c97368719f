// What only a laid-out page shows: where things stand, what a key does, what is cut and what scrolls.
import { test } from "node:test";
import assert from "node:assert/strict";
import { quiet, setStage } from "../lib/stage.js";

const stage = setStage();
const { skip } = stage;

async function open(hash, options = {}) {
  const watched = await stage.open(hash, options);
  return { page: watched.page, close: () => quiet(watched) };
}

const NARROW = { viewport: { width: 390, height: 760 } };

test("the sign-in card stands in the middle; Enter signs in, Shift+Enter does not", { skip }, async () => {
  stage.server.backend.state.signedIn = false;
  const { page, close } = await open("#/");
  const { left, right } = await page.evaluate(() => {
    const box = document.querySelector(".signin-card").getBoundingClientRect();
    return { left: box.left, right: innerWidth - box.right };
  });
  assert.ok(Math.abs(left - right) <= 2, `${left} px left of the card, ${right} px right of it`);
  await page.fill("#token", "good-token");
  await page.press("#token", "Shift+Enter");
  assert.equal(await page.inputValue("#token"), "good-token\n");
  await page.press("#token", "Enter");
  await page.waitForSelector(".topbar");
  await close();
});

test("narrow: a diff line stays one line with its sign and indentation, and scrolls inside its file", { skip }, async () => {
  const { page, close } = await open("#/runs/demo.yesterday?view=changes", NARROW);
  await page.waitForSelector(".diff-row--add");
  const seen = await page.evaluate(() => {
    const code = document.querySelector(".diff-row--add code");
    code.textContent = `        ${"long ".repeat(60)}`;
    const [diff, row] = [code.closest(".diff"), code.closest(".diff-row")];
    const line = Number.parseFloat(getComputedStyle(diff).lineHeight);
    return {
      lines: Math.round(row.getBoundingClientRect().height / line),
      indented: getComputedStyle(code).whiteSpaceCollapse ?? getComputedStyle(code).whiteSpace,
      scrolls: diff.scrollWidth > diff.clientWidth,
      sideways: document.documentElement.scrollWidth > innerWidth,
      beside: document.querySelector(".diff-row--add .diff-sign").getBoundingClientRect().top === row.getBoundingClientRect().top,
    };
  });
  assert.deepEqual({ ...seen, indented: "" }, { lines: 1, indented: "", scrolls: true, sideways: false, beside: true });
  assert.match(seen.indented, /^(pre|preserve)/);
  await close();
});

test("narrow: the search box of History is as wide as its column", { skip }, async () => {
  const { page, close } = await open("#/history", NARROW);
  await page.waitForSelector(".history-row");
  const [find, list] = await page.evaluate(() =>
    [".page-head .find", ".history-list"].map((one) => document.querySelector(one).getBoundingClientRect().width),
  );
  assert.ok(Math.abs(find - list) <= 2, `${find} px beside ${list} px`);
  await close();
});

test("the list of steps, at its end, begins with a whole row", { skip }, async () => {
  const { page, close } = await open("#/runs/demo.yesterday");
  await page.waitForSelector(".row");
  for (const height of [900, 871, 858]) {
    await page.setViewportSize({ width: 1440, height });
    const cut = await page.evaluate(() => {
      const list = document.querySelector(".activity-scroll");
      list.scrollTop = list.scrollHeight;
      return { scrolled: list.scrollTop > 0, rest: list.scrollTop % 34 };
    });
    assert.ok(cut.scrolled);
    assert.ok(Math.min(cut.rest, 34 - cut.rest) <= 1, `${cut.rest} px of a row at the top, window ${height} px high`);
  }
  await close();
});

test("a modal's buttons are in sight however long its text and low the window", { skip }, async () => {
  for (const viewport of [NARROW.viewport, { width: 360, height: 560 }, { width: 1440, height: 420 }]) {
    const { page, close } = await open("#/runs/demo.yesterday", { viewport });
    await page.click(".run-acts >> text=Result");
    await page.waitForSelector(".modal .prose table");
    const { acts, body } = await page.evaluate(() => ({
      acts: document.querySelector(".modal-acts").getBoundingClientRect().bottom,
      body: document.querySelector(".modal-body").scrollHeight > document.querySelector(".modal-body").clientHeight,
    }));
    assert.ok(acts <= viewport.height, `buttons end at ${acts} of ${viewport.height} px`);
    assert.equal(body, true, "the control: the text is longer than the modal");
    await close();
  }
});

test("narrow: the bar is two rows, with the way out in it", { skip }, async () => {
  for (const width of [360, 390, 600, 760]) {
    const { page, close } = await open("#/runs/demo.fix-slug", { viewport: { width, height: 760 } });
    await page.waitForSelector(".chip--live");
    const bar = await page.locator(".topbar").boundingBox();
    assert.ok(bar.height <= 90, `${bar.height} px at ${width} px`);
    assert.equal(await page.getByRole("button", { name: "Sign out jane@example.test" }).isVisible(), true);
    await close();
  }
});
