// Writes src/event-shapes.js from contracts/schemas/event.schema.json: what a LogEvent may look like, for decode.js.
// `node web/generate-shapes.mjs` writes, `--check` only compares and exits 1 on a difference.
import { readFileSync, writeFileSync } from "node:fs";

const source = new URL("../contracts/schemas/event.schema.json", import.meta.url);
const target = new URL("./src/event-shapes.js", import.meta.url);
const KEPT = new Set([
  "$ref",
  "anyOf",
  "oneOf",
  "const",
  "enum",
  "type",
  "pattern",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "properties",
  "required",
  "items",
  "minItems",
  "maxItems",
  "maxProperties",
  "additionalProperties",
]);

function slim(schema) {
  if (typeof schema !== "object" || schema === null) return schema;
  const out = {};
  for (const [name, value] of Object.entries(schema)) {
    if (!KEPT.has(name)) continue;
    if (name === "properties")
      out[name] = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, slim(one)]));
    else if (name === "anyOf" || name === "oneOf") out.anyOf = value.map(slim);
    else if (name === "items" || name === "additionalProperties") out[name] = slim(value);
    else if (name === "$ref") out[name] = value.replace("#/$defs/", "");
    else out[name] = value;
  }
  return out;
}

export function shapesModule(json) {
  const schema = JSON.parse(json);
  const shapes = Object.fromEntries(Object.entries(schema.$defs).map(([name, one]) => [name, slim(one)]));
  const types = Object.fromEntries(
    Object.entries(schema.$defs)
      .map(([name, one]) => [one.properties?.type?.const, name])
      .filter(([type]) => type !== undefined),
  );
  const lines = Object.entries(shapes).map(([name, one]) => `  ${JSON.stringify(name)}: ${JSON.stringify(one)},`);
  return [
    "// Generated from contracts/schemas/event.schema.json by generate-shapes.mjs. Do not edit.",
    `export const EVENT_SHAPE_OF = ${JSON.stringify(types, null, 2)};`,
    "",
    `export const SHAPES = {\n${lines.join("\n")}\n};`,
    "",
  ].join("\n");
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const wanted = shapesModule(readFileSync(source, "utf8"));
  if (process.argv.includes("--check")) {
    if (readFileSync(target, "utf8") !== wanted) {
      console.error("web/src/event-shapes.js is stale: run `node web/generate-shapes.mjs`");
      process.exit(1);
    }
  } else writeFileSync(target, wanted);
}
