// Fixture frames: the events of a small, complete run. Made by hand, checked by tests.
import { FILES, PATCH, ROLES, TASK } from "./job.js";

export { PATCH, TASK };
export const UID = "6f1f0c1e-52a5-4f1b-9a35-2f4f5a1c0de1";
const SHA = (digit) => String(digit).repeat(64);
export const T0 = Date.parse("2026-01-05T14:02:00.000Z");

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
  const tool = (role, parent, name, title, args, output, { outcome = "success", exitCode, blob, took = 500 } = {}) => {
    const op = opens("tool.started", `role:${role}`, `tool:${name}`, parent, {
      title,
      call: `t${events.length}`,
      tool: name,
      effect: name === "read_file" || name.endsWith("files") ? "read" : "write",
      arguments: JSON.stringify(args),
      argumentsSha256: undefined,
    });
    if (name === "run_shell") add("tool.progress", { op, role, text: `${output.split("\n", 1)[0]}\n` }, took / 2);
    const exit = exitCode === undefined ? {} : { exitCode };
    add("tool.finished", { op, role, outcome, output, ...exit, ...(blob ? { blob } : {}) }, took);
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
    { outcome: "error", exitCode: 1, blob: SHA(5), took: 2600 },
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
