import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { EVENT_TYPES } from "../../../web/src/contract.js";
import { decodeLine, decodeValue } from "../../../web/src/decode.js";
import { close, fold, foldAll, FOLDED_TYPES } from "../../../web/src/fold.js";
import { modelFromWire, modelToWire, newModel } from "../../../web/src/model.js";
import { shapesModule } from "../../../web/generate-shapes.mjs";

const folder = new URL("../../golden/fold/", import.meta.url);
const goldens = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .map((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")));

function decoded(lines) {
  let after = 0;
  return lines.map((line) => {
    const event = decodeLine(typeof line === "string" ? line : JSON.stringify(line), after);
    if (event.seq > after) after = event.seq;
    return event;
  });
}

const wireOf = (model) => JSON.parse(JSON.stringify(modelToWire(model)));

test("there are goldens, and every event type has a rule", () => {
  assert.ok(goldens.length >= 15);
  assert.deepEqual(FOLDED_TYPES, EVENT_TYPES);
});

for (const golden of goldens) {
  test(`golden ${golden.name}: ${golden.why}`, () => {
    const model = foldAll(decoded(golden.lines));
    if (golden.close) close(model, golden.close.ts, golden.close.status);
    assert.deepEqual(wireOf(model), golden.model);
  });
}

test("a model served half-way goes on to the same end", () => {
  for (const golden of goldens.filter((one) => !one.close)) {
    const events = decoded(golden.lines);
    for (const at of [1, Math.floor(events.length / 2), events.length]) {
      const half = modelFromWire(wireOf(foldAll(events.slice(0, at))));
      assert.deepEqual(wireOf(foldAll(events.slice(at), half)), golden.model, `${golden.name} from ${at}`);
    }
  }
});

test("folding the same events twice changes nothing", () => {
  const events = decoded(goldens.find((one) => one.name === "whole-run").lines).filter(
    (one) => one.type !== "unreadable",
  );
  const model = foldAll(events);
  const once = wireOf(model);
  assert.deepEqual(wireOf(foldAll(events, model)), once);
});

test("decoding is total", () => {
  for (const line of [
    "",
    "null",
    "1",
    "[]",
    "{}",
    '{"type":"__proto__"}',
    '{"type":"constructor"}',
    "[".repeat(50000),
    '{"type":7}',
    "\u0000",
    "{".repeat(9999),
  ]) {
    assert.equal(decodeLine(line).type, "unreadable", line.slice(0, 20));
  }
  for (const value of [null, undefined, 3, "x", [], () => 1]) assert.equal(decodeValue(value).type, "unreadable");
  assert.equal(decodeValue({ type: "unreadable", after: "x", reason: {}, bytes: -1, text: 5 }, 3).after, 3);
});

test("event-shapes.js is generated from the contract's schema", () => {
  const schema = readFileSync(new URL("../../../contracts/schemas/event.schema.json", import.meta.url), "utf8");
  assert.equal(
    readFileSync(new URL("../../../web/src/event-shapes.js", import.meta.url), "utf8"),
    shapesModule(schema),
  );
});

test("an event costs the same at 40,000 as at 400", { skip: process.env.CI ? "timing; run by hand" : false }, () => {
  const perEvent = (count) => {
    const started = goldens.find((one) => one.name === "whole-run").lines[0];
    const events = [started];
    for (let seq = 2; seq <= count; seq += 2) {
      const base = { v: 1, run: started.run, attempt: 1, ts: started.ts };
      events.push({
        ...base,
        seq,
        type: "tool.started",
        op: `o${seq}`,
        parent: "o1",
        source: "role:planner",
        destination: "tool:read_file",
        title: "r",
        call: "c",
        tool: "read_file",
        arguments: "{}",
      });
      events.push({ ...base, seq: seq + 1, type: "tool.finished", op: `o${seq}`, outcome: "success", output: "x" });
    }
    const model = newModel();
    const begun = process.cpuUsage();
    for (const event of events) fold(model, event);
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / count;
  };
  perEvent(40000);
  const ratio = perEvent(40000) / Math.max(perEvent(400), perEvent(4000));
  assert.ok(ratio < 3, `ratio ${ratio}`);
});
