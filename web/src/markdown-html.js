// Guards the page against slow and exploding prose: bounds before, bounds after, explicit languages only.
// Runs inside the Worker, where a deadline can end it; knows nothing of the DOM.
import { POLICY } from "./markdown-policy.js";
import { showdown } from "./showdown-module.js";
import hljs from "../vendor/highlight.js";

/** Most DOM nodes a page would have to make from one field; above it the field is shown as text. */
export const HTML_MAX_NODES = 12000;
/** Deepest nesting of one field's markup. */
export const HTML_MAX_DEPTH = 256;
/** Longest HTML made from one field, in UTF-16 units. */
export const HTML_MAX_CHARS = 1048576;

const OPTIONS = {
  tables: true,
  strikethrough: true,
  noHeaderId: true,
  encodeEmails: false,
  tasklists: false,
  literalMidWordUnderscores: true,
  disableForced4SpacesIndentedSublists: true,
};
const FENCE = /^([ \t]{0,12})(`{3,}|~{3,})[ \t]*([^`\n]{0,200})$/;
const LIST_ITEM = /^ {0,8}(?:[-*+]|\d{1,9}[.)])[ \t]/;
const TABLE_RULE = /^[ \t|:-]{1,1000}$/; // showdown wants three dashes where GFM is content with one
const LANGUAGE = /^[A-Za-z0-9_+#.-]{1,32}/;

/** {ok: true, html} or {ok: false, reason}; may throw (showdown overflows the stack on some input). */
export function markdownToHtml(text) {
  if (text.length > POLICY.limits.proseMaxChars) return { ok: false, reason: "too long" };
  const converter = new showdown.Converter(OPTIONS);
  const html = highlightBlocks(converter.makeHtml(closeFences(text)));
  const reason = refusalFor(html);
  return reason === "" ? { ok: true, html } : { ok: false, reason };
}

/**
 * Normalises fences, linearly: the opening line keeps only a language, an unclosed fence is closed (text still
 * arriving is code, not markup), and a fence inside a list item is indented by four so that the list goes on.
 */
export function closeFences(text) {
  let open = null;
  let inList = false;
  const out = [];
  for (const line of text.split(/\r\n|\r|\n/)) {
    const found = FENCE.exec(line);
    if (open !== null) {
      out.push(open.shift + line.slice(indentWithin(line, open.indent)));
      if (found !== null && closes(found, open)) open = null;
    } else if (found !== null) {
      const [, indent, fence, info] = found;
      const shift = inList && indent.length > 0 ? "    " : indent;
      if (shift !== indent && out.length > 0 && out[out.length - 1].trim() !== "") out.push("");
      open = { indent: indent.length, fence, shift };
      out.push(`${shift}${fence}${(LANGUAGE.exec(info) ?? [""])[0]}`);
    } else {
      if (LIST_ITEM.test(line)) inList = true;
      else if (/^\S/.test(line)) inList = false;
      out.push(TABLE_RULE.test(line) && line.includes("|") ? line.replace(/-+/g, "---") : line);
    }
  }
  if (open !== null) out.push(`${open.shift}${open.fence}`);
  return out.join("\n");
}

function closes([, , fence, info], open) {
  return info.trim() === "" && fence[0] === open.fence[0] && fence.length >= open.fence.length;
}

function indentWithin(line, most) {
  let count = 0;
  while (count < most && (line[count] === " " || line[count] === "\t")) count += 1;
  return count;
}

/** Replaces each fenced block that names a known language by its highlighted form. Linear in the HTML. */
export function highlightBlocks(html) {
  const parts = [];
  let at = 0;
  let budget = POLICY.limits.codeMaxChars;
  for (;;) {
    const start = html.indexOf('<pre><code class="', at);
    const bodyAt = start < 0 ? -1 : html.indexOf(">", start + 6) + 1;
    const end = bodyAt <= 0 ? -1 : html.indexOf("</code></pre>", bodyAt);
    if (end < 0) break;
    const language = languageOf(html.slice(start, bodyAt));
    const body = html.slice(bodyAt, end);
    parts.push(html.slice(at, start));
    if (language !== "" && body.length <= budget && !body.includes("<")) {
      budget -= body.length;
      parts.push(`<pre><code class="hljs language-${language}">${highlighted(body, language)}</code></pre>`);
    } else parts.push(html.slice(start, end + 13));
    at = end + 13;
  }
  parts.push(html.slice(at));
  return parts.join("");
}

function languageOf(openTag) {
  const found = /class="([A-Za-z0-9_+#.-]{1,32}) language-/.exec(openTag);
  return found && hljs.getLanguage(found[1]) ? found[1] : "";
}

function highlighted(body, language) {
  const code = body
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, "&");
  return hljs.highlight(code, { language, ignoreIllegals: true }).value;
}

const FORMATTING = new Set("a b big code em font i nobr s small strike strong tt u".split(" "));
const VOID = new Set("area base br col embed hr img input link meta param source track wbr".split(" "));

/**
 * Why this HTML must not reach the page's parser, or "". The parser re-opens every unclosed formatting element in
 * each later block, so a few KB can become millions of nodes; this counts that worst case in one linear pass.
 */
export function refusalFor(html) {
  if (html.length > HTML_MAX_CHARS) return "too much markup";
  const open = new Map();
  let formatting = 0;
  let depth = 0;
  let nodes = 0;
  for (const [, slash, rawName] of html.matchAll(/<(\/?)([a-zA-Z][^\s/>]{0,40})/g)) {
    const name = rawName.toLowerCase();
    const count = open.get(name) ?? 0;
    if (slash === "/") {
      if (count > 0) open.set(name, count - 1);
      if (count > 0 && FORMATTING.has(name)) formatting -= 1;
      if (count > 0) depth -= 1;
      nodes += 1;
    } else {
      nodes += 2 + formatting;
      if (!VOID.has(name)) {
        open.set(name, count + 1);
        depth += 1;
        if (FORMATTING.has(name)) formatting += 1;
      }
    }
    if (depth > HTML_MAX_DEPTH) return "nested too deeply";
    if (nodes > HTML_MAX_NODES * 3) return "too much markup";
  }
  return "";
}
