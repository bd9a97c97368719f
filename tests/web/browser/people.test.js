// A person answers, decides and interrupts, by mouse and by keyboard; nothing shows as done before it came back.
import { test } from "node:test";
import assert from "node:assert/strict";
import { quiet, setStage } from "../lib/stage.js";

const stage = setStage();
const { skip } = stage;

const open = (hash) => stage.open(hash, { ready: ".run-head" });
const focused = (page) => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.id);

test("a question is answered by keyboard; it shows as answered only when the run says so", { skip }, async () => {
  stage.server.backend.state.holdActs = true;
  const watched = await open("#/runs/demo.ask-first");
  const { page } = watched;
  await page.waitForSelector(".ask--question");
  assert.match(await page.textContent("[role=status].visually-hidden"), /Planner asks you/);
  assert.match(await page.title(), /^\(2\) ask-first/);
  assert.match(await page.textContent(".needs-you"), /2 need you/);
  await page.keyboard.press("a");
  const sheet = page.getByRole("dialog", { name: "Planner asks" });
  await sheet.waitFor();
  await page.waitForFunction(() => document.activeElement.classList.contains("option"));
  assert.match(await focused(page), /Yes, with a default/);
  assert.match(await sheet.textContent(), /2[34]:\d\d left/);
  await sheet.locator(".sheet-prose code").first().waitFor(); // text first, Markdown as soon as it is formatted
  assert.equal(await sheet.locator(".sheet-prose code").count(), 2, "the question is Markdown");
  await page.keyboard.press("2");
  await page.keyboard.press("1");
  await page.click(".modal-acts >> text=Send “Yes, with a default”");
  await page.waitForSelector(".ask--sent");
  assert.deepEqual(stage.server.backend.state.acts, [
    { "/api/answer": { run: "demo.ask-first", questionId: "q1", text: "Yes, with a default" } },
  ]);
  assert.match(await page.textContent(".run-title .status"), /Needs a person/, "the run has not said so yet");
  stage.server.backend.releaseActs();
  await page.waitForFunction(() => document.querySelector(".attention") === null);
  await page.waitForFunction(() => /Running/.test(document.querySelector(".run-title .status").textContent));
  await quiet(watched);
});

test("what the gateway refuses is said in the sheet, and nothing shows as done", { skip }, async () => {
  stage.server.backend.state.refuseActs = true;
  const watched = await open("#/runs/demo.ask-first");
  const { page } = watched;
  await page.click(".ask .button");
  await page.fill("#answer-text", "no");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".modal [role=alert]");
  assert.match(await page.textContent(".modal [role=alert]"), /answered already\. Nothing was changed/);
  assert.equal(await page.locator(".ask--sent").count(), 0);
  assert.equal(await page.inputValue("#answer-text"), "no", "what was written is kept");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelector(".modal") === null);
  await quiet(watched);
});

test("an approval: Deny has the focus, Approve needs the tick, one key approves nothing", { skip }, async () => {
  const watched = await open("#/runs/demo.wants-approval");
  const { page } = watched;
  await page.click(".ask .button");
  await page.waitForSelector(".argument-row");
  await page.waitForFunction(() => document.activeElement.textContent.includes("Deny"));
  const approve = page.getByRole("button", { name: "Approve once" });
  assert.equal(await approve.isDisabled(), true);
  for (const key of ["a", "y", "1"]) await page.keyboard.press(key);
  assert.deepEqual(stage.server.backend.state.acts, []);
  await page.focus("#read-it");
  await page.keyboard.press("Space");
  await page.waitForSelector(".modal-acts .button--primary:not([disabled])");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "Approve once", "the order is tick, Deny, Approve");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".attention") === null);
  const [act] = stage.server.backend.state.acts;
  assert.equal(act["/api/approvals"].decision, "approve");
  assert.match(act["/api/approvals"].argumentsHash, /^c0ffee/);
  await quiet(watched);
});

test("whoever may only look is told so and can send nothing", { skip }, async () => {
  stage.server.backend.state.mayAct = false;
  const watched = await open("#/runs/demo.wants-approval");
  const { page } = watched;
  await page.click(".ask >> text=Look");
  await page.waitForSelector(".argument-row");
  assert.match(await page.textContent(".modal"), /may look at this but not decide it/);
  assert.equal(await page.locator(".modal-acts .button").count(), 1);
  await quiet(watched);
});

test("an inquiry is answered in a card; a redirection is on its way until the run took it", { skip }, async () => {
  const watched = await open("#/runs/demo.ask-first");
  const { page } = watched;
  await page.keyboard.press("i");
  await page.waitForFunction(() => document.activeElement.id === "interrupt-message");
  await page.keyboard.type("What have you found?");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".answer-card");
  assert.match(
    await page.textContent(".answer-card"),
    /Planner answers the inquiry.*What have you found\?.*last word/s,
  );
  await page.click(".answer-card >> text=Dismiss");
  await page.waitForFunction(() => document.querySelector(".answer-card") === null);
  stage.server.backend.state.holdActs = true;
  await page.click(".run-acts >> text=Interrupt");
  await page.check(".intent input[value=redirect]");
  await page.click(".modal-acts .button--primary");
  await page.waitForSelector(".modal [role=alert]");
  await page.fill("#interrupt-message", "Leave the signature alone.");
  await page.click("text=Send the instruction");
  await page.waitForSelector(".ask--sent");
  assert.match(await page.textContent(".ask--sent"), /redirection is on its way/);
  stage.server.backend.releaseActs();
  await page.waitForFunction(() => document.querySelector(".ask--sent") === null);
  assert.equal(await page.locator(".answer-card").count(), 0, "a redirection is no inquiry");
  await quiet(watched);
});

test("the picker names the run that is watched, not an earlier one of its name", { skip }, async () => {
  const { summary } = stage.server.backend.runs.get("demo.wants-approval");
  stage.server.backend.state.former = [{ ...summary, uid: "uid-earlier", phase: "Cancelled", live: false, awaiting: 0 }];
  const watched = await open("#/runs/demo.wants-approval");
  const { page } = watched;
  await page.waitForFunction(() => document.querySelectorAll(".run-picker option").length > 3);
  const picked = () => page.evaluate(() => document.querySelector(".run-picker select").selectedOptions[0].textContent);
  assert.match(await picked(), /Needs a person/);
  await page.selectOption(".run-picker select", "demo.wants-approval?uid-earlier");
  await page.waitForFunction(() => location.hash.includes("uid=uid-earlier"));
  assert.match(await picked(), /Cancelled/);
  await quiet(watched);
});
