// showdown 2.1.0 is no ES module: it looks for `module.exports`. Imported before it, this gives it one.
globalThis.module = { exports: {} };
export const holder = globalThis.module;
