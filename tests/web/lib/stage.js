// What a browser test stands on: one Chromium for its file, a server for each test, and pages that must stay quiet.
import { after, before, beforeEach } from "node:test";
import assert from "node:assert/strict";
import { browserMissing, launch, openPage, watchedPage } from "./browser.js";
import { startConsoleServer } from "./console-server.js";

/**
 * Sets a test file up: `stage.browser` and `stage.server` are there while a test runs. `shared` keeps one server for the
 * whole file; `start` makes it. Call it once, at the top of the file.
 */
export function setStage({ shared = false, start = () => startConsoleServer({ nowMs: Date.now() }) } = {}) {
  const stage = { skip: browserMissing, browser: null, server: null };
  const renew = async () => {
    await stage.server?.close();
    stage.server = await start();
  };
  before(async () => {
    if (stage.skip) return;
    stage.browser = await launch();
    if (shared) await renew();
  });
  beforeEach(async () => {
    if (!stage.skip && !shared) await renew();
  });
  after(async () => {
    await stage.browser?.close();
    await stage.server?.close();
  });

  /** Opens an address of the console in a page of its own and waits for `ready`: {page, context, log}. */
  stage.open = async (hash, { ready, ...options } = {}) => {
    const watched = await watchedPage(stage.browser, stage.server.url, options);
    const drawn = stage.server.backend.state.signedIn ? ".topbar" : "#token";
    await openPage(watched.page, `${stage.server.url}/${hash}`, ready ?? drawn);
    return watched;
  };
  return stage;
}

/** Nothing foreign was asked for, nothing violated the CSP, nothing threw; then the page is closed. */
export async function quiet({ log, context }) {
  assert.deepEqual(log, { foreign: [], violations: [], scripts: [], errors: [] });
  await context.close();
}

/** Waits until nothing moves: no request is under way, no prose is being formatted, no element came or went for `ms`. */
export const settled = (page, ms = 60) =>
  page.evaluate(
    (still) =>
      new Promise((resolve) => {
        let last = performance.now();
        const seen = new MutationObserver(() => {
          last = performance.now();
        });
        seen.observe(document.body, { childList: true, subtree: true, attributes: true });
        const look = () => {
          const moves = document.getAnimations().some((one) => Number.isFinite(one.effect?.getComputedTiming().endTime));
          if (moves) last = performance.now();
          if (performance.now() - last < still) return requestAnimationFrame(look);
          seen.disconnect();
          resolve();
        };
        look();
      }),
    ms,
  );
