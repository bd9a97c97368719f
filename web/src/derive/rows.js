// Guards a sheet against long arguments: text cut into rows of one height, so that only those in sight become nodes.
// Every hidden character counts as wide as it is shown, so nothing can lie beyond the edge of the sheet.
import { reveal } from "../safe.js";

const PLAIN_FROM = 0x20;
const PLAIN_TO = 0x7e;
const LONG_SPACES = 8;
const SPACES = new RegExp(` {${LONG_SPACES},}`, "g");

/** How many columns a code point takes when shown: hidden ones as they are spelt, others beyond ASCII as two. */
export function columnsOf(char) {
  const code = char.codePointAt(0);
  if (code >= PLAIN_FROM && code <= PLAIN_TO) return 1;
  if (char === "\t") return 2;
  const shown = reveal(char);
  return shown === char ? 2 : shown.length;
}

/**
 * Cuts `text` into rows from `start` on, looking at `most` characters at a time: {starts, next, hidden, spaces}, where
 * `starts` are the offsets at which rows begin, `next` is where to go on (text.length when done), `hidden` says that
 * hidden characters were met and `spaces` that a long run of spaces was, other than an indentation. Pure.
 */
export function cutRows(text, start, columns, most) {
  const starts = [];
  const widths = new Map();
  const stop = Math.min(text.length, start + most);
  let [at, run, inked] = [start, 0, start > 0 && text[start - 1] !== "\n"];
  let [hidden, spaces] = [false, false];
  while (at < stop) {
    starts.push(at);
    let used = 0;
    while (at < text.length) {
      const code = text.charCodeAt(at);
      if (code === 0x0a) {
        at += 1;
        [run, inked] = [0, false];
        break;
      }
      const plain = code >= PLAIN_FROM && code <= PLAIN_TO;
      const char = plain ? "" : String.fromCodePoint(text.codePointAt(at));
      let width = 1;
      if (!plain) {
        width = widths.get(char) ?? columnsOf(char);
        widths.set(char, width);
        hidden = hidden || width > 2;
      }
      if (used + width > columns && used > 0) break;
      run = code === 0x20 ? run + 1 : 0;
      spaces = spaces || (inked && run >= LONG_SPACES);
      inked = inked || code !== 0x20;
      used += width;
      at += plain ? 1 : char.length;
    }
  }
  return { starts, next: at, hidden, spaces };
}

/** Row `index` as it is shown: hidden characters spelt out, long runs of spaces dotted, no line feed at its end. */
export function rowText(text, starts, index) {
  const raw = text.slice(starts[index], starts[index + 1] ?? text.length);
  const line = reveal(raw.endsWith("\n") ? raw.slice(0, -1) : raw).replaceAll("\t", "\\t");
  const begins = starts[index] === 0 || text[starts[index] - 1] === "\n";
  return line.replace(SPACES, (run, at) => (begins && at === 0 ? run : "·".repeat(run.length)));
}
