// One jsdom window as the globals that the console's modules expect. Import before anything from web/src.
import { JSDOM } from "jsdom";

export const dom = new JSDOM("<!doctype html><html lang=en><body><div id=app></div></body></html>", {
  url: "http://console.test/",
  pretendToBeVisual: true,
});
for (const name of [
  "document",
  "DOMParser",
  "Node",
  "CharacterData",
  "Element",
  "Document",
  "HTMLElement",
  "Event",
  "KeyboardEvent",
  "MouseEvent",
]) {
  globalThis[name] = dom.window[name];
}
globalThis.window = dom.window;
globalThis.location = dom.window.location;
// Frames as fast as the loop turns: jsdom has nothing to paint.
globalThis.requestAnimationFrame = (callback) => setImmediate(() => callback(performance.now()));

/** After the next `count` animation frames. */
export async function frames(count = 2) {
  for (let i = 0; i < count; i += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
}
