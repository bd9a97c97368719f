// Fixture frames: the events of a small, complete run, and generators for long and odd ones. Made by hand, checked by tests.

export const UID = "6f1f0c1e-52a5-4f1b-9a35-2f4f5a1c0de1";
const SHA = (digit) => String(digit).repeat(64);
const T0 = Date.parse("2026-01-05T14:02:00.000Z");

const ROLES = [
  {
    name: "planner",
    label: "Planner",
    kind: "role",
    tools: ["list_files", "search_files", "read_file", "update_plan", "delegate", "ask_human", "finish"],
    delegates: ["coder", "reviewer"],
  },
  {
    name: "coder",
    label: "Coder",
    kind: "role",
    tools: ["read_file", "search_files", "edit_file", "write_file", "run_shell", "finish"],
    delegates: [],
  },
  { name: "reviewer", label: "Reviewer", kind: "role", tools: ["read_file", "run_shell", "finish"], delegates: [] },
  {
    name: "warden",
    label: "Warden",
    kind: "handler",
    tools: ["recent_role_tool_calls", "trigger_interrupt"],
    delegates: [],
  },
];

export const TASK = `The function \`slug()\` in \`textkit/slug.py\` drops the last word of long titles.

- find out why,
- fix it with the **smallest** change,
- and leave the test suite green.

\`\`\`python
>>> slug("The quick brown fox jumps", limit=12)
'the-quick'        # expected: 'the-quick-br'
\`\`\``;

export const PATCH = `diff --git a/textkit/slug.py b/textkit/slug.py
index 3b18e51..9f2c1aa 100644
--- a/textkit/slug.py
+++ b/textkit/slug.py
@@ -14,9 +14,8 @@ def slug(title: str, limit: int = 60) -> str:
     words = WORD.findall(title.lower())
     text = "-".join(words)
-    if len(text) > limit:
-        text = text[: text.rfind("-", 0, limit)]
-    return text
+    # Cut at the limit, then drop a separator left hanging.
+    return text[:limit].rstrip("-")
 
 
 def words(title: str) -> list[str]:
diff --git a/tests/test_slug.py b/tests/test_slug.py
index 77a1b02..c0ffee1 100644
--- a/tests/test_slug.py
+++ b/tests/test_slug.py
@@ -21,3 +21,7 @@ def test_separator_is_collapsed():
 
 def test_empty_title():
     assert slug("") == ""
+
+
+def test_long_title_is_cut_at_the_limit():
+    assert slug("The quick brown fox jumps", limit=12) == "the-quick-br"
diff --git a/Makefile b/Makefile
index 1111111..2222222 100644
--- a/Makefile
+++ b/Makefile
@@ -3,2 +3,2 @@ test:
-\tpython -m pytest
+\tpython -m pytest -q
`;

const FILES = [
  { path: "textkit/slug.py", status: "modified", added: 2, removed: 3, binary: false, willRun: false },
  { path: "tests/test_slug.py", status: "modified", added: 4, removed: 0, binary: false, willRun: false },
  { path: "Makefile", status: "modified", added: 1, removed: 1, binary: false, willRun: true },
];

/** A recorder of events: each call adds one, `op` ids are its own seqs. */
function recorder(uid) {
  const events = [];
  let ms = 0;
  const add = (type, fields = {}, after = 400) => {
    ms += after;
    const seq = events.length + 1;
    const event = { v: 1, run: uid, attempt: 1, seq, ts: new Date(T0 + ms).toISOString(), type, ...fields };
    events.push(event);
    return event;
  };
  const opens = (type, source, destination, parent, fields = {}, after = 300) => {
    const role = source.startsWith("role:") ? { role: source.slice(5) } : {};
    const op = `o${events.length + 1}`;
    add(type, { op, ...(parent ? { parent } : {}), ...role, source, destination, ...fields }, after);
    return op;
  };
  return { events, add, opens };
}

const usage = (tokens, cached, output) => ({ tokens, cachedPromptTokens: cached, outputTokens: output });

/** The whole run: planner asks coder, coder fixes, reviewer checks, one test run fails on the way. */
export function goodRun(uid = UID) {
  const { events, add, opens } = recorder(uid);
  const model = (role, parent, text, [tokens, cached, output], cost, calls = [], took = 1800) => {
    const op = opens("model.started", `role:${role}`, `role:${role}`, parent, {
      title: "scripted:repair",
      callId: `c${events.length}`,
      model: "scripted:repair",
    });
    add("model.text", { op, role, text: text.slice(0, 40) }, took / 2);
    add(
      "model.finished",
      {
        op,
        role,
        outcome: "success",
        stopReason: calls.length > 0 ? "tool_calls" : "end",
        text,
        calls: calls.map((name, at) => ({ call: `t${events.length}${at}`, name })),
        usage: usage(tokens, cached, output),
        costMicroUSD: cost,
        scripted: true,
      },
      took / 2,
    );
  };
  const tool = (role, parent, name, title, args, output, { outcome = "success", exitCode, took = 500 } = {}) => {
    const op = opens("tool.started", `role:${role}`, `tool:${name}`, parent, {
      title,
      call: `t${events.length}`,
      tool: name,
      effect: name === "read_file" || name.endsWith("files") ? "read" : "write",
      arguments: JSON.stringify(args),
      argumentsSha256: undefined,
    });
    if (name === "run_shell") add("tool.progress", { op, role, text: `${output.split("\n", 1)[0]}\n` }, took / 2);
    add("tool.finished", { op, role, outcome, output, ...(exitCode === undefined ? {} : { exitCode }) }, took);
  };
  const plan = (statuses) =>
    opens("plan.updated", "role:planner", "role:planner", "o1", {
      title: "Plan",
      items: [
        "Find where `slug()` cuts the title",
        "Fix the cut with the smallest change",
        "Run the whole suite and review the change",
      ].map((text, at) => ({ text, status: statuses[at] })),
    });

  opens(
    "run.started",
    "human",
    "role:planner",
    "",
    {
      title: "Fix slug()",
      guild: "repair",
      guildDigest: SHA(7),
      entryRole: "planner",
      roles: ROLES,
      task: TASK,
      mode: "interactive",
      budget: { costMicroUSD: 2000000, steps: 200, seconds: 3600 },
      isolation: "verified",
    },
    0,
  );
  add("role.started", { op: "o1", role: "planner", source: "human", destination: "role:planner" });
  model("planner", "o1", "I look at the package first, then plan.", [3120, 0, 84], 11200, ["list_files"]);
  tool("planner", "o1", "list_files", "textkit", { path: "textkit" }, "slug.py\nwrap.py\n__init__.py");
  tool(
    "planner",
    "o1",
    "search_files",
    "rfind(",
    { pattern: "rfind\\(" },
    '{"matches": [{"path": "textkit/slug.py", "line": 17, "text": "        text = text[: text.rfind(\\"-\\", 0, limit)]"}]}',
  );
  model("planner", "o1", "The cut uses `rfind`, which gives up the last word.", [3890, 2900, 120], 7300, [
    "update_plan",
    "delegate",
  ]);
  plan(["done", "active", "pending"]);
  const coding = opens("role.started", "role:planner", "role:coder", "o1", {
    title: "Fix the cut",
    brief:
      "In `textkit/slug.py`, line 17: cut at the limit instead of the last separator before it.\n\nAdd a test for it.",
  });
  model("coder", coding, "Reading the function before I change it.", [2210, 0, 60], 8100, ["read_file"]);
  tool(
    "coder",
    coding,
    "read_file",
    "textkit/slug.py",
    { path: "textkit/slug.py" },
    'WORD = re.compile(r"[a-z0-9]+")\n\n\ndef slug(title: str, limit: int = 60) -> str:\n    """A title as a URL part."""\n    words = WORD.findall(title.lower())\n    text = "-".join(words)\n    if len(text) > limit:\n        text = text[: text.rfind("-", 0, limit)]\n    return text\n',
  );
  tool(
    "coder",
    coding,
    "edit_file",
    "textkit/slug.py",
    { path: "textkit/slug.py", old: 'text[: text.rfind("-", 0, limit)]', new: "text[:limit]" },
    "1 replacement",
  );
  tool(
    "coder",
    coding,
    "run_shell",
    "python -m pytest -q",
    { command: "python -m pytest -q" },
    "..F......\n\nFAILED tests/test_slug.py::test_no_trailing_separator - AssertionError: 'the-quick-' == 'the-quick'\n1 failed, 8 passed in 0.21s",
    { outcome: "error", exitCode: 1, took: 2600 },
  );
  model("coder", coding, "A separator may be left hanging: strip it after the cut.", [3480, 2100, 140], 6900, [
    "edit_file",
    "run_shell",
  ]);
  tool(
    "coder",
    coding,
    "edit_file",
    "textkit/slug.py",
    { path: "textkit/slug.py", old: "text[:limit]", new: 'text[:limit].rstrip("-")' },
    "1 replacement",
  );
  tool(
    "coder",
    coding,
    "write_file",
    "tests/test_slug.py",
    { path: "tests/test_slug.py", mode: "append" },
    "4 lines added",
  );
  tool(
    "coder",
    coding,
    "run_shell",
    "python -m pytest -q",
    { command: "python -m pytest -q" },
    "..........\n10 passed in 0.19s",
    { exitCode: 0, took: 2400 },
  );
  add("changes.updated", {
    patchSHA256: SHA(9),
    patchBytes: PATCH.length,
    files: FILES,
    filesTotal: 3,
    added: 7,
    removed: 4,
  });
  add("role.finished", {
    op: coding,
    role: "coder",
    outcome: "success",
    summary: "The cut is at the limit and a hanging separator is dropped. One test added; **10 passed**.",
  });
  plan(["done", "done", "active"]);
  const review = opens("role.started", "role:planner", "role:reviewer", "o1", {
    title: "Review the change",
    brief: "Run the suite once more and read the change as a stranger would.",
  });
  model("reviewer", review, "I run the suite first.", [1980, 0, 44], 6200, ["run_shell"]);
  tool(
    "reviewer",
    review,
    "run_shell",
    "python -m pytest -q",
    { command: "python -m pytest -q" },
    "..........\n10 passed in 0.18s",
    { exitCode: 0, took: 3100 },
  );
  model("reviewer", review, "The change is small and the suite is green.", [2400, 1900, 90], 4100);
  add("role.finished", {
    op: review,
    role: "reviewer",
    outcome: "success",
    summary: "Approved: the smallest change, covered by a test.",
  });
  plan(["done", "done", "done"]);
  model("planner", "o1", "Everything is done.", [4650, 3800, 130], 5200, ["finish"]);
  add("run.summarized", { summary: "slug() now cuts at the limit; suite green (10 passed)" });
  opens("run.finished", "role:planner", "human", "o1", {
    title: "Result",
    outcome: "succeeded",
    artifacts: ["textkit/slug.py", "tests/test_slug.py"],
    result:
      '## What was wrong\n\n`slug()` cut at the last separator **before** the limit, so a long title lost its last word.\n\n## What changed\n\n1. Cut at the limit:\n   ```python\n   return text[:limit].rstrip("-")\n   ```\n2. One new test.\n\n| suite | before | after |\n|---|---|---|\n| passed | 9 | **10** |\n| failed | 0 | 0 |\n',
  });
  return events.map((event) => JSON.parse(JSON.stringify(event)));
}

/** A run that fails before its end: the provider is gone. */
export function failedRun(uid) {
  const events = goodRun(uid).slice(0, 17);
  const last = events[events.length - 1];
  const at = (ms) => new Date(Date.parse(last.ts) + ms).toISOString();
  const error = {
    kind: "llm_unavailable",
    message:
      "The model provider answered **503** four times in two minutes.\n\nNothing is wrong with the task; start the run again later.",
    retryable: true,
    actor: "provider",
    detail: { status: "503" },
  };
  events.push({ ...head(last), seq: last.seq + 1, ts: at(900), type: "error.raised", error });
  events.push({
    ...head(last),
    seq: last.seq + 2,
    ts: at(1200),
    type: "run.finished",
    op: `o${last.seq + 2}`,
    parent: "o1",
    role: "planner",
    source: "role:planner",
    destination: "human",
    title: "Result",
    outcome: "failed",
    error,
  });
  return events;
}

const head = ({ v, run, attempt }) => ({ v, run, attempt });

/** A run that waits for a person. */
export function askingRun(uid) {
  const events = goodRun(uid).slice(0, 22);
  const last = events[events.length - 1];
  events.push({
    ...head(last),
    seq: last.seq + 1,
    ts: new Date(Date.parse(last.ts) + 700).toISOString(),
    type: "question.asked",
    op: `o${last.seq + 1}`,
    parent: "o1",
    role: "planner",
    source: "role:planner",
    destination: "human",
    title: "May I change the public signature?",
    questionId: "q1",
    text: "May I add a parameter `strict` to `slug()`? It changes the *public* signature.",
    context: "Two callers outside the package use it.",
    options: ["Yes", "No"],
  });
  return events;
}

/** A run that waits for an approval. */
export function approvingRun(uid) {
  const events = goodRun(uid).slice(0, 22);
  const last = events[events.length - 1];
  events.push({
    ...head(last),
    seq: last.seq + 1,
    ts: new Date(Date.parse(last.ts) + 700).toISOString(),
    type: "approval.requested",
    op: `o${last.seq + 1}`,
    parent: "o1",
    role: "reviewer",
    source: "role:reviewer",
    destination: "human",
    title: "Deploy service",
    approvalId: "a1",
    tool: "deploy_service",
    argumentsHash: "c0ffee".repeat(10) + "c0ff",
    expiresAt: new Date(Date.parse(last.ts) + 600000).toISOString(),
  });
  return events;
}

/** `count` events of one long run, for windows and budgets. */
export function longRun(count, uid) {
  const events = goodRun(uid).slice(0, 2);
  for (let seq = 3; seq < count; seq += 2) {
    const step = (seq - 3) / 2;
    const ts = new Date(T0 + seq * 250).toISOString();
    const role = ["planner", "coder", "reviewer"][step % 3];
    const failed = step % 97 === 96;
    const base = { ...head(events[0]), ts, role, op: `o${seq}` };
    events.push({
      ...base,
      seq,
      type: "tool.started",
      parent: "o1",
      source: `role:${role}`,
      destination: `tool:${role === "reviewer" ? "run_shell" : "read_file"}`,
      title: `step ${step}`,
      call: `t${seq}`,
      tool: role === "reviewer" ? "run_shell" : "read_file",
      arguments: `{"path":"src/file${step}.py"}`,
    });
    events.push({
      ...base,
      seq: seq + 1,
      ts: new Date(T0 + seq * 250 + 180).toISOString(),
      type: "tool.finished",
      outcome: failed ? "error" : "success",
      output: `line ${step}`,
    });
  }
  return events.slice(0, count);
}
