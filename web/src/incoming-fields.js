// Single fields of what a server sends, as what they should be: a bounded string, a number, a list of strings.
import { cut, listOf, numberOr, stringOf } from "./safe.js";

export const ROLES_MAX_COUNT = 64;
export const TOOLS_MAX_COUNT = 200;

export const string = (value, maxChars = 4096) => cut(stringOf(value), maxChars);
export const optional = (value, maxChars) => (value === undefined || value === null ? undefined : string(value, maxChars));
export const strings = (value, most, maxChars = 400) =>
  listOf(value)
    .slice(0, most)
    .map((one) => string(one, maxChars));
export const number = (value, other = 0) => numberOr(value) ?? other;
export const prose = (value) => stringOf(value);
