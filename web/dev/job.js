// The job of the fixture frames: what was asked, who works on it, and what becomes of the files. Made by hand.

export const ROLES = [
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

export const FILES = [
  { path: "textkit/slug.py", status: "modified", added: 2, removed: 3, binary: false, willRun: false },
  { path: "tests/test_slug.py", status: "modified", added: 4, removed: 0, binary: false, willRun: false },
  { path: "Makefile", status: "modified", added: 1, removed: 1, binary: false, willRun: true },
];
