// Icons as functions: hyperapp must never meet the same vnode twice. Shapes only; words stand beside them.
import { h } from "../h.js";

const svg = (size, children) =>
  h(
    "svg",
    { class: "icon", viewBox: "0 0 16 16", width: size, height: size, "aria-hidden": "true", focusable: "false" },
    children,
  );
const stroke = (d, size = 16) =>
  svg(size, [
    h("path", {
      d,
      fill: "none",
      stroke: "currentColor",
      "stroke-width": "1.6",
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
    }),
  ]);

const PATHS = {
  brand: "M2 6.5 8 2.5l6 4M3.5 6.5v6M6.5 6.5v6M9.5 6.5v6M12.5 6.5v6M2 13.5h12",
  running: "M5 3.5v9l7-4.5z",
  succeeded: "M3 8.5l3.2 3.2L13 4.8",
  failed: "M4 4l8 8M12 4l-8 8",
  cancelled: "M4.5 4.5h7v7h-7z",
  pending: "M8 4.5V8l2.5 1.5M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z",
  awaiting: "M8 4v5M8 11.6v.1M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z",
  success: "M3 8.5l3.2 3.2L13 4.8",
  error: "M4 4l8 8M12 4l-8 8",
  active: "M5 3.5v9l7-4.5z",
  task: "M3 3.5h10v9H3zM5.5 6.5h5M5.5 9.5h3",
  delegation: "M3 4v3.5a2 2 0 0 0 2 2h7M9.5 6.5l3 3-3 3",
  model: "M8 2.5l1.4 4.1L13.5 8l-4.1 1.4L8 13.5l-1.4-4.1L2.5 8l4.1-1.4z",
  tool: "M10.5 2.8a3 3 0 0 0-3.4 4.3L2.8 11.4l1.8 1.8 4.3-4.3a3 3 0 0 0 4.3-3.4L11.4 7.3 8.7 4.6z",
  question: "M6 6a2 2 0 1 1 2.7 1.9c-.5.2-.7.5-.7 1.1M8 11.6v.1M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z",
  approval: "M8 2l5 2v3.5c0 3-2.1 5.3-5 6.5-2.9-1.2-5-3.5-5-6.5V4zM5.8 8l1.6 1.6 2.8-3",
  inquiry: "M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2z",
  interrupt: "M8 2v5M4.7 4.2a5 5 0 1 0 6.6 0",
  plan: "M3 4h1M3 8h1M3 12h1M6.5 4H13M6.5 8H13M6.5 12H13",
  result: "M4 14V2.5h8l-2 3 2 3H4",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
  keys: "M2 4.5h12v7H2zM4.5 7h.1M7 7h.1M9.5 7h.1M12 7h.1M5.5 9.5h5",
  search: "M11 11l3 3M12 7A5 5 0 1 1 2 7a5 5 0 0 1 10 0z",
  shield: "M8 2l5 2v3.5c0 3-2.1 5.3-5 6.5-2.9-1.2-5-3.5-5-6.5V4z",
  shieldOff: "M8 2l5 2v3.5c0 3-2.1 5.3-5 6.5-2.9-1.2-5-3.5-5-6.5V4zM6 6l4 4M10 6l-4 4",
  chevron: "M6 4l4 4-4 4",
  down: "M8 3v10M4 9l4 4 4-4",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M5.5 5.5h7v8h-7zM3.5 10.5v-8h7",
  download: "M8 2.5v7M5 7l3 3 3-3M3 13h10",
  human: "M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8zM3 13.5c.6-2.4 2.6-3.7 5-3.7s4.4 1.3 5 3.7",
  role: "M8 2.5l1.4 4.1L13.5 8l-4.1 1.4L8 13.5l-1.4-4.1L2.5 8l4.1-1.4z",
  handler: "M2 8s2.2-4 6-4 6 4 6 4-2.2 4-6 4-6-4-6-4zM8 9.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6z",
  tools: "M10.5 2.8a3 3 0 0 0-3.4 4.3L2.8 11.4l1.8 1.8 4.3-4.3a3 3 0 0 0 4.3-3.4L11.4 7.3 8.7 4.6z",
  first: "M4 3.5v9M12 3.5L6.5 8l5.5 4.5z",
  back: "M10.5 3.5L5 8l5.5 4.5",
  next: "M5.5 3.5L11 8l-5.5 4.5",
  last: "M12 3.5v9M4 3.5L9.5 8 4 12.5z",
  warn: "M8 2.5l6 10.5H2zM8 6.5v3M8 11.4v.1",
  bell: "M8 2.2a4 4 0 0 0-4 4v2.6L2.8 11h10.4L12 8.8V6.2a4 4 0 0 0-4-4zM6.6 13.2a1.5 1.5 0 0 0 2.8 0",
  bellOff: "M8 2.2a4 4 0 0 0-4 4v2.6L2.8 11h10.4L12 8.8V6.2a4 4 0 0 0-4-4zM6.6 13.2a1.5 1.5 0 0 0 2.8 0M2.5 2.5l11 11",
  private: "M4 7h8v6H4zM5.5 7V5a2.5 2.5 0 0 1 5 0v2",
  external: "M6 4H3.5v8.5H12V10M8.5 3H13v4.5M13 3L7.5 8.5",
  spark: "M8 2v3M8 11v3M2 8h3M11 8h3M4 4l2 2M10 10l2 2M12 4l-2 2M6 10l-2 2",
};

/** A named icon; an unknown name is a small circle, never an error. */
export const Icon = (name, size = 16) =>
  stroke(Object.hasOwn(PATHS, name) ? PATHS[name] : "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6z", size);

/** The same shape inside another SVG, at a place. */
export const IconIn = (name, x, y, size = 16) =>
  h("path", {
    d: PATHS[name] ?? PATHS.pending,
    class: "glyph",
    transform: `translate(${x} ${y}) scale(${size / 16})`,
    fill: "none",
    "stroke-width": "1.6",
    "stroke-linecap": "round",
    "stroke-linejoin": "round",
  });
