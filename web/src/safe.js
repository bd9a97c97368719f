// Guards against data becoming structure: every value from a server or an agent passes here before a view uses it.
// hyperapp turns an object child into a vnode and assigns an innerHTML prop; text() and attr() return strings only.

import { HIDDEN as CONTRACT_HIDDEN, PICTURES } from "./contract.js";

/** Longest text node made from one machine field, in UTF-16 units. */
export const TEXT_MAX_CHARS = 8192;
/** Longest attribute value made from data, in UTF-16 units. */
export const ATTR_MAX_CHARS = 512;

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
// What hides in every language of the product, and what only the console spells out: blanks that look like a space,
// which a person cannot tell apart, and every other format character.
const BLANKS = "\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000";
const HIDDEN = new RegExp(`[${classOf(CONTRACT_HIDDEN)}${BLANKS}\\p{Cf}]`, "gu");
const PICTURE = new RegExp(`^[${classOf(PICTURES)}]`, "u");
const KEYCAP = /^[0-9#*][\ufe0e\ufe0f]\u20e3/;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Ranges of code points in hexadecimal as the inside of a character class. */
function classOf(ranges) {
  return ranges.replace(/[0-9a-f]+/g, "\\u{$&}").replaceAll(" ", "");
}

/** As the model reads it: `\xNN`, or `\u{NNNN}` above a byte. */
function escapeOf(char) {
  const code = char.codePointAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16).padStart(4, "0")}}`;
}

/** Any value as a string: never an object, never an exception. Objects become compact JSON, null becomes "". */
export function stringOf(value) {
  if (typeof value === "string") return value;
  if (value === null || value === undefined || typeof value === "function" || typeof value === "symbol") return "";
  if (typeof value !== "object") return String(value);
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "[unreadable value]";
  }
}

/** Text cut at `maxChars`, saying how much is missing. */
export function cut(value, maxChars) {
  const whole = stringOf(value);
  if (whole.length <= maxChars) return whole;
  const end = isHighSurrogate(whole.charCodeAt(maxChars - 1)) ? maxChars - 1 : maxChars;
  return `${whole.slice(0, end)}… [${(whole.length - end).toLocaleString("en")} more characters]`;
}

const isHighSurrogate = (unit) => unit >= 0xd800 && unit <= 0xdbff;

/** Hidden, direction-changing and control characters spelt out; newline and tab stay, and what is an emoji's own. */
export function reveal(value) {
  const whole = stringOf(value).replace(LONE_SURROGATE, "\ufffd");
  return whole.replace(HIDDEN, (char, at) => (ofEmoji(char, whole, at) ? char : escapeOf(char)));
}

/** A single selector after a picture or in a keycap, a joiner between two pictures; anywhere else they only hide data. */
function ofEmoji(char, whole, at) {
  if (isSelector(char)) return isPicture(before(whole, at)) || KEYCAP.test(whole.slice(Math.max(at - 1, 0), at + 2));
  if (char !== "\u200d" || !PICTURE.test(whole.slice(at + 1, at + 3))) return false;
  return isPicture(before(whole, isSelector(whole[at - 1]) ? at - 1 : at));
}

const isSelector = (char) => char === "\ufe0e" || char === "\ufe0f";
const isPicture = (char) => PICTURE.test(char);

/** The character that ends at `at`, or "". */
const before = (whole, at) => [...whole.slice(Math.max(at - 2, 0), at)].at(-1) ?? "";

/** True when `reveal` would change something: the caller shows a warning chip beside it. */
export function hasHidden(value) {
  return reveal(value) !== stringOf(value);
}

/** Control characters only, for prose, where direction marks and joiners are part of people's languages. */
export function escapeControls(value) {
  return stringOf(value).replace(LONE_SURROGATE, "\ufffd").replace(CONTROL, escapeOf);
}

/** A machine field as the content of one text node: a bounded string with nothing hidden in it. */
export function text(value, maxChars = TEXT_MAX_CHARS) {
  return reveal(cut(value, maxChars));
}

/** A machine field as an attribute value: a bounded, visible, single-line string. */
export function attr(value, maxChars = ATTR_MAX_CHARS) {
  return text(value, maxChars).replace(/[\n\t]+/g, " ");
}

/** A finite number, or null: unknown stays unknown, it never becomes 0. */
export function numberOr(value) {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** A lookup table without a prototype: a key from data finds only what was put in, never "constructor". */
export const table = (entries) => Object.freeze(Object.assign(Object.create(null), entries));

/** A list, or an empty one. */
export function listOf(value) {
  return Array.isArray(value) ? value : [];
}

/** A plain record, or an empty one; arrays and null are not records. */
export function recordOf(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
}

/**
 * Pretty JSON for a <pre>, or null when the value is not an object or array.
 * A string that parses as an object or array counts as one.
 */
export function prettyJson(value, maxChars = 65536) {
  const parsed = typeof value === "string" ? parseStructure(value, maxChars) : value;
  if (parsed === null || typeof parsed !== "object") return null;
  try {
    return reveal(cut(JSON.stringify(parsed, null, 2), maxChars));
  } catch {
    return null;
  }
}

function parseStructure(value, maxChars) {
  const first = value.trimStart()[0];
  if ((first !== "{" && first !== "[") || value.length > maxChars) return null;
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
}

// Browsers ignore some of these characters before or inside a scheme; we ignore all of them, so none can hide one.
const IGNORED_IN_SCHEME = /[\p{Cc}\p{Cf}\p{Zs}\p{Zl}\p{Zp}]/gu;
const SCHEME = /^([a-z][a-z0-9+.-]*):/i;

/** The lower-case scheme of an address as a browser might read it, or "" for a relative one. */
export function schemeOf(href) {
  const found = SCHEME.exec(stringOf(href).replace(IGNORED_IN_SCHEME, ""));
  return found ? found[1].toLowerCase() : "";
}

/** True when the address is relative or its scheme is in `schemes`. */
export function isAllowedHref(href, schemes) {
  const scheme = schemeOf(href);
  return scheme === "" || schemes.includes(scheme);
}

/**
 * Where a link really leads: {href, host, external} or null when no browser could follow it safely.
 * `host` is what the person is shown; look-alike names arrive in punycode and user:password@ is gone.
 */
export function linkTarget(href, base, schemes) {
  if (!isAllowedHref(href, schemes)) return null;
  let url;
  try {
    url = new URL(href, base);
  } catch {
    return null;
  }
  if (!schemes.includes(url.protocol.slice(0, -1))) return null;
  if (url.protocol === "mailto:") return { href: url.href, host: attr(url.pathname, 120), external: true };
  return { href: url.href, host: attr(url.host, 120), external: url.origin !== new URL(base).origin };
}
