import { test } from "node:test";
import assert from "node:assert/strict";
import { LeaveRest, RunAgain, SetField } from "../../../web/src/actions/compose.js";
import { formProblems, manifestOf, specOf, takenOver, yaml } from "../../../web/src/derive/manifest.js";
import { isScripted, prefilled, reachOf } from "../../../web/src/derive/offer.js";
import { readDetail } from "../../../web/src/incoming.js";
import { emptyForm, initialState } from "../../../web/src/state.js";

test("manifest: what is sent and what is shown say the same, and YAML cannot be broken out of", () => {
  const form = {
    ...emptyForm(),
    namespace: "demo",
    guild: "repair",
    task: "line\n\n  - x: {{ y }}\nend",
    source: "archive",
    configMap: "src",
    strip: "1",
    dollars: "0.5",
    minutes: "10",
  };
  assert.deepEqual(specOf(form), {
    guildRef: { name: "repair" },
    task: form.task,
    workspace: { archive: { configMap: "src", key: "workspace.tar.gz", stripComponents: 1 } },
    budget: { costMicroUSD: 500000, seconds: 600 },
  });
  assert.match(manifestOf(form), /task: \|-\n    line\n\n      - x: \{\{ y \}\}\n    end\n/);
  assert.equal(
    yaml({ a: "no", b: "1", c: "x: y", d: " lead", e: "a\u2028b\nc", f: "plain text" }),
    'a: "no"\nb: "1"\nc: "x: y"\nd: " lead"\ne: "a\u2028b\\nc"\nf: plain text\n',
  );
  assert.equal(yaml({ env: { NO: "1", On: "2", CI: "3" } }), 'env:\n  "NO": "1"\n  "On": "2"\n  CI: "3"\n');
  assert.deepEqual(formProblems(form), []);
  assert.deepEqual(
    formProblems({ ...emptyForm(), source: "git", gitUrl: "file:///etc", dollars: "x", name: "Bad_" }).map(
      (one) => one.field,
    ),
    ["namespace", "guild", "task", "name", "gitUrl", "dollars"],
  );
});

const answered = (spec) => readDetail({ summary: { namespace: "demo" }, spec });
const again = (spec) => RunAgain(initialState({ hash: "", theme: "dark", nowMs: 0, wide: true }), answered(spec))[0].compose;

test("a run started again is the same run: what the form shows, what it does not, and its privacy", () => {
  const spec = {
    guildRef: { name: "repair" },
    task: "again",
    workspace: {
      git: { url: "https://git.example/r.git", ref: "main", depth: 50, secretRef: { name: "reader" } },
      storage: { size: "5Gi", ephemeral: true },
    },
    image: "node:24",
    budget: { costMicroUSD: 2_000_000, seconds: 600 },
    mode: "scheduled",
    deliver: "branch",
    publish: { secretRef: { name: "writer" }, allowWillRun: false },
    env: { CI: "1" },
    resources: { memory: "4Gi" },
    concurrencyGroup: "nightly",
  };
  const form = again({ ...spec, private: false, cancel: true, suspend: false });
  assert.deepEqual(specOf(form), spec);
  assert.deepEqual(formProblems({ ...form, namespace: "demo" }), []);
  assert.deepEqual(takenOver(form), ["storage", "depth", "env", "resources", "concurrencyGroup", "publish"]);

  const quiet = { guildRef: { name: "repair" }, task: "x", private: true, deliver: "none", retainSeconds: 600 };
  assert.deepEqual(specOf(again(quiet)), quiet);
  const loud = specOf({ ...again(quiet), private: false });
  assert.deepEqual(loud, { guildRef: { name: "repair" }, task: "x" });

  const claim = { guildRef: { name: "repair" }, task: "x", workspace: { claim: { name: "data", subPath: "a/b" } } };
  assert.deepEqual(specOf(again(claim)), claim);
  assert.deepEqual(specOf({ ...again(claim), source: "none" }), { guildRef: { name: "repair" }, task: "x" });
  const copy = { guildRef: { name: "repair" }, task: "x", workspace: { template: { claim: "golden" } } };
  assert.deepEqual(specOf(again(copy)), copy);
});

test("a Guild written into a run comes along, until another is chosen", () => {
  const guild = { entryRole: "solo", roles: [{ name: "solo", prompt: "p", model: "m", tools: [], delegates: [] }] };
  const form = { ...again({ guild, task: "x" }), namespace: "demo" };
  assert.deepEqual(specOf(form), { guild, task: "x" });
  assert.deepEqual(formProblems(form), []);
  assert.match(manifestOf(form), /        tools: \[\]\n        delegates: \[\]\n/);
  assert.deepEqual(specOf({ ...form, guild: "repair" }), { guildRef: { name: "repair" }, task: "x" });
  const left = LeaveRest({ compose: form }).compose;
  assert.deepEqual(specOf(left), { guild, task: "x" });
});

test("a branch needs a repository to be pushed to", () => {
  const form = { ...emptyForm(), namespace: "demo", guild: "repair", task: "x", deliver: "branch" };
  assert.deepEqual(
    formProblems(form).map((one) => one.field),
    ["deliver"],
  );
  assert.deepEqual(formProblems({ ...form, source: "git", gitUrl: "https://git.example/r.git" }), []);
  assert.deepEqual(formProblems({ ...form, private: true }), []);
  assert.match(reachOf({ ...form, source: "git" }, null, { tool: String }), /pushed to a new branch of its repository/);
  assert.match(reachOf({ ...form, source: "template", template: "golden" }, null, { tool: String }), /a copy of the claim golden/);
});

test("where there is no choice, none is asked for", () => {
  const guild = (name, accepted = true, namespace = "demo") => ({ name, namespace, accepted, spec: {} });
  const config = { namespaces: ["demo", "other"], guilds: [guild("draft", false), guild("repair"), guild("x", true, "other")] };
  const chosen = prefilled(emptyForm(), config);
  assert.deepEqual([chosen.namespace, chosen.guild], ["demo", "repair"]);
  const two = { ...config, guilds: [...config.guilds, guild("upgrade")] };
  assert.equal(prefilled(emptyForm(), two).guild, "", "two may be chosen from");
  assert.equal(prefilled({ ...emptyForm(), guild: "upgrade" }, two).guild, "upgrade");
  const moved = SetField({ compose: chosen, config: two }, { field: "namespace", value: "other" }).compose;
  assert.deepEqual([moved.namespace, moved.guild], ["other", "x"]);
});

test("a Guild that only replays scenarios is said to", () => {
  assert.equal(isScripted({ models: { a: "scripted:x", b: "scripted:y" } }), true);
  assert.equal(isScripted({ models: { a: "scripted:x", b: "openai:gpt-5" } }), false);
  assert.equal(isScripted({}), false);
});
