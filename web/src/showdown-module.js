import { holder } from "./showdown-shim.js";
import "../vendor/showdown.js";

delete globalThis.module;
export const showdown = holder.exports;
