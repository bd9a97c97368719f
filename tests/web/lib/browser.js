// Debian's Chromium behind Playwright, counting everything a test must know: violations, requests, dialogs, errors.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

export const CHROMIUM = process.env.GUILDHALL_CHROMIUM ?? "/usr/bin/chromium";
/** false, or the reason for which browser tests are skipped. */
export const browserMissing = existsSync(CHROMIUM) ? false : `no Chromium at ${CHROMIUM} (apt-get install chromium)`;

const ARGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const launch = () => chromium.launch({ executablePath: CHROMIUM, args: ARGS });

/**
 * A page that records what it did: {page, context, log}. log.foreign holds requests to other origins,
 * log.violations CSP reports, log.scripts signs of script execution, log.errors uncaught errors.
 */
export async function watchedPage(browser, origin, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  const log = { foreign: [], violations: [], scripts: [], errors: [] };
  // Parsing hostile HTML into an inert document is itself reported, since that document inherits the policy.
  const inert = (source) => /\/src\/trusted-types\.js$/.test(source);
  page.on("request", (request) => {
    if (!request.url().startsWith(origin)) log.foreign.push(request.url());
  });
  page.on("dialog", async (dialog) => {
    log.scripts.push(`dialog ${dialog.message()}`);
    await dialog.dismiss();
  });
  page.on("pageerror", (error) => log.errors.push(String(error.stack ?? error)));
  page.on("console", (message) => {
    if (inert(message.location().url)) return;
    if (/Content Security Policy|Trusted ?Type/i.test(message.text())) log.violations.push(message.text());
  });
  await context.exposeBinding("reportViolation", (_, what, source) => {
    if (!inert(source)) log.violations.push(`${what} ${source}`);
  });
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) =>
      window.reportViolation(`${event.violatedDirective} ${event.blockedURI}`, event.sourceFile ?? ""),
    );
  });
  return { page, context, log };
}

/** Opens an address and waits for `selector`; loads again when the machine's network changed under Chromium. */
export async function openPage(page, url, selector = "#app") {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await page.goto(url);
      await page.waitForSelector(selector, { timeout: 4000 });
      return;
    } catch (error) {
      if (attempt === 12) throw error;
      await page.goto("about:blank"); // the same address again would not load it again
    }
  }
}

/** Loads the page's own address anew, as `openPage` does. */
export async function reopenPage(page, selector) {
  const url = page.url();
  await page.goto("about:blank");
  await openPage(page, url, selector);
}
