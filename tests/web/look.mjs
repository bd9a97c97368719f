// Takes screenshots of every screen, both widths, both themes, for people to judge: `node tests/web/look.mjs FOLDER [filter]`.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, openPage } from "./lib/browser.js";
import { startConsoleServer } from "./lib/console-server.js";

const [folder = "artifacts/look", filter = ""] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const SHOTS = [
  ["flow", "#/runs/demo.fix-slug"],
  ["flow-op", "#/runs/demo.fix-slug?op=o22"],
  ["sequence", "#/runs/demo.fix-slug?view=sequence"],
  ["timeline", "#/runs/demo.yesterday?view=timeline"],
  ["changes", "#/runs/demo.yesterday?view=changes"],
  ["events", "#/runs/demo.yesterday?view=events"],
  ["ask", "#/runs/demo.ask-first"],
  ["ask-sheet", "#/runs/demo.ask-first"],
  ["ask-sent", "#/runs/demo.ask-first"],
  ["approve", "#/runs/demo.wants-approval"],
  ["approve-sheet", "#/runs/demo.wants-approval"],
  ["approve-hidden", "#/runs/demo.wants-approval"],
  ["interrupt", "#/runs/demo.fix-slug"],
  ["inquiry-answered", "#/runs/demo.ask-first"],
  ["failed", "#/runs/demo.provider-gone"],
  ["open", "#/runs/demo.not-shut-in"],
  ["waiting", "#/runs/demo.waiting"],
  ["landing", "#/"],
  ["history", "#/history"],
  ["compose", "#/compose"],
  ["signin", "#/"],
  ["result", "#/runs/demo.yesterday"],
  ["stop", "#/runs/demo.fix-slug"],
  ["hover", "#/runs/demo.fix-slug"],
  ["keys", "#/runs/demo.fix-slug"],
  ["replay", "#/runs/demo.yesterday?at=20"],
];
const server = await startConsoleServer({ nowMs: Date.now() });
const browser = await launch();
const act = {
  result: (page) => page.click("text=Result"),
  stop: (page) => page.click(".run-acts >> text=Stop"),
  "ask-sheet": async (page) => {
    await page.click(".ask .button");
    await page.click(".option >> nth=0");
  },
  "ask-sent": async (page) => {
    server.backend.state.holdActs = true;
    await page.click(".ask .button");
    await page.click(".option >> nth=0");
    await page.click(".modal-acts .button--primary");
    server.backend.state.holdActs = false;
    server.backend.state.later.length = 0;
    server.backend.waiting.questions[0].question.state = "open";
  },
  "approve-sheet": (page) => page.click(".ask .button"),
  "approve-hidden": async (page) => {
    const { approval } = server.backend.waiting.approvals[0];
    const before = approval.arguments;
    approval.arguments = JSON.stringify({
      command: `run tests \u202egnihton\u202c\u200b # ${" ".repeat(120)}; git push --force origin main`,
      padding: Array.from({ length: 40 }, (_, index) => `line ${index}`),
    });
    await page.reload();
    await page.click(".ask .button");
    await page.waitForSelector(".argument-row");
    approval.arguments = before;
  },
  interrupt: (page) => page.click(".run-acts >> text=Interrupt"),
  "inquiry-answered": async (page) => {
    await page.click(".run-acts >> text=Interrupt");
    await page.fill("#interrupt-message", "What have you found so far?");
    await page.click(".modal-acts .button--primary");
    await page.waitForSelector(".answer-card");
  },
  keys: (page) => page.keyboard.press("?"),
  hover: (page) => page.hover('[data-role="coder"]'),
  history: (page) => page.click(".history-line >> nth=4"),
  compose: async (page) => {
    await page.fill("#compose-task", "Fix `slug()` in **textkit**.\n\n- smallest change\n- suite green");
    await page.click(".guild-option >> text=repair");
    await page.selectOption("#compose-source", "archive");
    await page.fill("#compose-configMap", "textkit-source");
  },
};
for (const theme of ["light", "dark"]) {
  for (const width of [1440, 390]) {
    for (const [name, hash] of SHOTS) {
      const label = `${name}-${theme}-${width}`;
      if (filter && !label.includes(filter)) continue;
      server.backend.state.signedIn = name !== "signin";
      const page = await browser.newPage({
        viewport: { width, height: width === 1440 ? 900 : 760 },
        colorScheme: theme,
      });
      page.on("pageerror", (error) => console.log(label, String(error.stack).slice(0, 600)));
      page.on("console", (message) => message.type() === "error" && console.log(label, message.text().slice(0, 300)));
      await openPage(page, `${server.url}/${hash}`, name === "signin" ? "#token" : ".topbar");
      await page.waitForTimeout(700);
      try {
        await act[name]?.(page);
      } catch (error) {
        console.log(label, String(error).slice(0, 200));
      }
      await page.waitForTimeout(400);
      await page.screenshot({
        path: join(folder, `${label}.png`),
        fullPage: width === 390 && !["result", "stop", "keys"].includes(name),
      });
      await page.close();
    }
  }
}
await browser.close();
await server.close();
