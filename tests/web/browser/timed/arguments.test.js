// A3, C5: arguments of any size are shown whole, and the page stays awake.
import { test } from "node:test";
import assert from "node:assert/strict";
import { quiet, setStage } from "../../lib/stage.js";

const stage = setStage();
const { skip } = stage;

test("10 MB of arguments: fetched by themselves, drawn in sight only, the page stays awake", { skip }, async () => {
  const { approval } = stage.server.backend.waiting.approvals[0];
  approval.arguments = JSON.stringify({ script: "echo one two three\u200b\n".repeat(450_000) });
  approval.argumentsBytes = approval.arguments.length;
  const watched = await stage.open("#/runs/demo.wants-approval", { ready: ".run-head" });
  const { page } = watched;
  await page.evaluate(() => {
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
    }).observe({ type: "longtask" });
  });
  await page.click(".ask .button");
  await page.waitForSelector(".argument-row");
  await page.waitForFunction(() => document.querySelector(".argument-space").offsetHeight > 1_000_000);
  assert.ok((await page.locator(".argument-row").count()) < 60);
  assert.equal(await page.isDisabled("#read-it"), true);
  await page.evaluate(() => {
    const box = document.querySelector(".argument-scroll");
    box.scrollTop = box.scrollHeight;
  });
  await page.waitForFunction(() => {
    const box = document.querySelector(".argument-scroll");
    box.scrollTop = box.scrollHeight;
    return !document.querySelector("#read-it").disabled;
  });
  const longest = await page.evaluate(() => window.longest);
  assert.ok(longest < 600, `a task of ${longest} ms`);
  await page.click(".modal-acts >> text=Deny");
  await page.waitForFunction(() => document.querySelector(".modal") === null);
  assert.equal(stage.server.backend.state.acts[0]["/api/approvals"].decision, "deny");
  await quiet(watched);
});
