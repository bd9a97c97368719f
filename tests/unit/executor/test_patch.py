"""What a patch changes is read from the patch, not from what anybody says about it."""

import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.frames import DiffResult, ErrorReply
from guildhall_executor.changes import Change, examine, take_changes
from guildhall_executor.patch import FileChange, parse_patch
from guildhall_executor.tools.ask import WorkshopLost
from guildhall_executor.willrun import will_run
from hypothesis import given
from hypothesis import strategies as st

MODIFIED = b"""diff --git a/src/x.py b/src/x.py
index 1111111..2222222 100644
--- a/src/x.py
+++ b/src/x.py
@@ -1,3 +1,4 @@
 a
-b
+B
+C
 d
"""
LOOKS_LIKE_A_HEADER = b"""diff --git a/a.txt b/a.txt
index 1111111..2222222 100644
--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,3 @@
--- a/secret
-diff --git a/x b/x
+++ b/.github/workflows/x.yml
+diff --git a/y b/y
+@@ -1 +1 @@
"""


def only(patch: bytes) -> FileChange:
    files = parse_patch(patch)
    assert files is not None
    assert len(files) == 1, files
    return files[0]


def test_a_modified_file() -> None:
    assert only(MODIFIED) == FileChange(b"src/x.py", "modified", 2, 1)


def test_content_that_looks_like_a_header_is_content() -> None:
    assert only(LOOKS_LIKE_A_HEADER) == FileChange(b"a.txt", "modified", 3, 2)


CASES: dict[str, tuple[bytes, FileChange]] = {
    "added": (
        (
            b"diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"
            b"\\ No newline at end of file\n"
        ),
        FileChange(b"n", "added", 1, 0, executable=True),
    ),
    "deleted": (
        b"diff --git a/n b/n\ndeleted file mode 100644\n--- a/n\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n",
        FileChange(b"n", "deleted", 0, 2),
    ),
    "empty file": (b"diff --git a/e b/e\nnew file mode 100644\n", FileChange(b"e", "added")),
    "mode": (b"diff --git a/m b/m\nold mode 100644\nnew mode 100755\n", FileChange(b"m", executable=True)),
    "mode back": (b"diff --git a/m b/m\nold mode 100755\nnew mode 100644\n", FileChange(b"m")),
    "executable before and after": (
        b"diff --git a/m b/m\nindex 1111111..2222222 100755\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n-a\n+b\n",
        FileChange(b"m", "modified", 1, 1),
    ),
    "link": (
        (
            b"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x/y\n"
            b"\\ No newline at end of file\n"
        ),
        FileChange(b"l", "added", 1, 0, target=b"x/y"),
    ),
    "quoted": (
        b'diff --git "a/caf\\303\\251\\n" "b/caf\\303\\251\\n"\nnew file mode 100644\n',
        FileChange("café\n".encode(), "added"),
    ),
    "blanks": (
        b"diff --git a/a b c b/a b c\nold mode 100644\nnew mode 100755\n",
        FileChange(b"a b c", executable=True),
    ),
    "a path that imitates the middle": (
        b"diff --git a/x b/y b/x b/y\nold mode 100644\nnew mode 100755\n",
        FileChange(b"x b/y", executable=True),
    ),
    "binary": (
        (
            b"diff --git a/i b/i\nindex 1111111..2222222 100644\nGIT binary patch\nliteral 3\nKc$@x\n"
            b"\nliteral 0\nHc$@x\n\n"
        ),
        FileChange(b"i", "modified", binary=True),
    ),
    "CR and no newline": (
        (
            b"diff --git a/c b/c\nindex 1111111..2222222 100644\n--- a/c\n+++ b/c\n@@ -1 +1 @@\n-a\r\n"
            b"\\ No newline at end of file\n+b\r\n\\ No newline at end of file\n"
        ),
        FileChange(b"c", "modified", 1, 1),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_change(name: str) -> None:
    patch, expected = CASES[name]
    assert only(patch) == expected
    both = parse_patch(patch + MODIFIED)
    assert both == [expected, FileChange(b"src/x.py", "modified", 2, 1)]


NO_PATCH = {
    "prose": b"hello\n",
    "hunk first": b"@@ -1 +1 @@\n-a\n+b\n",
    "hunk too short": MODIFIED.replace(b"-1,3 +1,4", b"-1,3 +1,9"),
    "hunk too long": MODIFIED.replace(b"-1,3 +1,4", b"-1,3 +1,2"),
    "other name below the header": MODIFIED.replace(b"+++ b/src/x.py", b"+++ b/Makefile"),
    "two names in the header": MODIFIED.replace(b" b/src/x.py\nindex", b" b/src/y.py\nindex"),
    "a second file without a header": MODIFIED + b"--- /dev/null\n+++ b/evil\n@@ -0,0 +1 @@\n+x\n",
    "prose after a hunk": MODIFIED + b"and now for something else\n",
    "rename": b"diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n",
    "a file in binary data": CASES["binary"][0] + b"--- /dev/null\n+++ b/evil\n@@ -0,0 +1 @@\n+x\n",
    "broken hunk head": MODIFIED.replace(b"@@ -1,3", b"@@ -x,3"),
}


@pytest.mark.parametrize("name", NO_PATCH)
def test_what_is_no_patch_is_refused(name: str) -> None:
    assert parse_patch(MODIFIED) is not None
    assert parse_patch(NO_PATCH[name]) is None


@given(st.one_of(st.binary(max_size=300), st.lists(st.sampled_from(MODIFIED.splitlines(True))).map(b"".join)))
def test_any_bytes_give_a_list_or_a_refusal(data: bytes) -> None:
    files = parse_patch(data)
    assert files is None or all(file.shown().path for file in files)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_agrees(tmp_path: Path) -> None:
    def git(*arguments: str) -> bytes:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True).stdout

    git("init", "-q")
    (tmp_path / "keep").write_text("1\n2\n3\n")
    (tmp_path / "gone").write_text("x\ny")
    (tmp_path / "bin").write_bytes(bytes(range(256)))
    git("add", "-A")
    git("commit", "-qm", "one")
    (tmp_path / "keep").write_text("1\n2 changed\n3\n4\n")
    (tmp_path / "gone").unlink()
    (tmp_path / "bin").write_bytes(bytes(range(255, -1, -1)))
    (tmp_path / "né w").write_text("--- a/b\n+++ c\n")
    git("add", "-A")
    patch = git("diff", "--cached", "--no-renames", "--binary")
    numbers = {}
    for line in git("diff", "--cached", "--no-renames", "--numstat", "-z").split(b"\0"):
        if line:
            added, removed, path = line.split(b"\t")
            numbers[path] = (0, 0) if added == b"-" else (int(added), int(removed))
    files = parse_patch(patch)
    assert files is not None
    assert {file.path: (file.added, file.removed) for file in files} == numbers
    assert {file.path for file in files if file.binary} == {b"bin"}


RUNS = [
    "Makefile", "sub/Makefile", ".git/hooks/pre-commit", ".husky/pre-push", ".envrc",
    ".github/workflows/ci.yml", ".gitlab-ci.yml", "AGENTS.md", "docs/CLAUDE.md", ".cursor/rules/a.mdc",
    "package.json", "setup.py", "tests/conftest.py", ".vscode/tasks.json", "Dockerfile", "Dockerfile.dev",
    "vite.config.ts", "x.mk", "lib/x.pth", "MAKEFILE", ".pre-commit-config.yaml",
    ".devcontainer/devcontainer.json", "justfile", "hooks/pre-commit", ".cursorrules",
    ".github/copilot-instructions.md", ".github/instructions/a.instructions.md", ".claude/settings.json",
    ".idea/runConfigurations/a.xml", "x.code-workspace", "lefthook.yml", ".eslintrc.cjs", "karma.conf.js",
    "a/b.targets", "flake.nix", "composer.json", "gradlew", ".mvn/wrapper/maven-wrapper.properties",
    ".yarn/plugins/p.cjs", "x.gemspec", ".gitattributes", ".GIT/hooks/x", ".g\u200cit/config", "Makefile. ",
    "SKILL.md", ".env.local", "action.yml", ".readthedocs.yml", ".readthedocs.yaml", "amplify.yml",
    ".zuul.yaml", "zuul.d/jobs.yaml", ".zuul.d/jobs.yaml", ".prow.yaml", ".prow/jobs.yaml", "bitrise.yml",
    "cloudbuild.json", "cloudbuild.yaml", "cloudbuild.yml", ".vela.yml", ".harness/pipeline.yaml",
    ".vsts-ci.yml", ".azure-pipelines/ci.yml", ".pipelines/ci.yml", ".onedev-buildspec.yml",
    ".agola/config.jsonnet", "wrangler.toml", "wrangler.json", "wrangler.jsonc", "screwdriver.yaml",
    ".space.kts", ".packit.yaml", ".drone.yaml", ".drone.jsonnet", ".cirrus.yaml", ".appveyor.yaml",
    "shippable.yml", "ci.gocd.yaml", "ci/build.jenkinsfile", "debian/rules", "pkg/debian/rules",
    ".platform.app.yaml", ".platform/hooks/predeploy/a.sh", "buddy.yml", ".buddy/deploy.yml",
    ".scrutinizer.yml", "buildkite.yml", "azure-pipelines/build.yml", ".azuredevops/ci.yml",
    "ci/lint.gitlab-ci.yml", "codeship-steps.yml", "appspec.yml", "apprunner.yaml", ".ebextensions/a.config",
    "atlantis.yaml", "ci_scripts/ci_post_clone.sh", "firebase.json", "vercel.ts", ".releaserc", ".copr/build",
    "CODEOWNERS", ".asf.yaml", "lefthook.toml", ".lefthook/pre-commit/x.sh", ".git-hooks/x", "prek.toml",
    "hk.pkl", ".trunk/trunk.yaml", "post-index-change", "bare.repo/config", ".jj/repo/config.toml", "WORKSPACE",
    "WORKSPACE.bazel", "MODULE.bazel", "BUILD", "tools/bazel", ".bazeliskrc",
    "gradle/wrapper/gradle-wrapper.properties", "gradle/wrapper/gradle-wrapper.jar",
    "buildSrc/src/main/kotlin/A.kt", "conventions.gradle.kts", "project/plugins.sbt",
    "project/build.properties", "project/Build.scala", ".sbtopts", ".jvmopts", "build.mill", "build.sc",
    "a/package.mill", "rust-toolchain.toml", "DEPS", "BUILD.gn", "m4/build-to-host.m4", "a.pro",
    "App.xcodeproj/project.pbxproj", "App.xcconfig", "Setup.hs", ".ghci", "hie.yaml", ".iex.exs",
    ".formatter.exs", ".luacheckrc", "x.nimble", "pubspec.yaml", "extconf.rb", ".rvmrc", "phpstan.neon",
    ".htaccess", ".user.ini", "docs/conf.py", "gunicorn.conf.py", "mkdocs.yml", "PKGBUILD", "debian/x.postinst",
    "a.spec", ".prettierrc", ".storybook/main.js", "mise.local.toml", ".mise.ci.toml", "Procfile.dev",
    "compose.override.yaml", "Package@swift-5.9.swift", "Assets/Editor/Build.cs", "cypress/support/e2e.ts",
    ".helix/languages.toml", "init.vim", ".project", "nbproject/build-impl.xml", ".claude-plugin/plugin.json",
    ".openhands/setup.sh", ".kilocode/rules/a.md", ".pr_agent.toml", ".coderabbit.yaml", "dagger.json",
    "a.container", "devbox.json",
]  # fmt: skip
DOES_NOT = [
    "src/x.py", "README.md", "makefiles.txt", "docs/agents.md.txt", "package.json.bak", "hooks.py", "",
    "src/hooks/use.ts", ".github/FUNDING.yml", "docs/git.md", "workspace/a.txt", "\u200b", "...",
    "src/environment.ts", "debian/changelog", "src/rules", "pipelines/a.py", "gocd.yaml.txt", "prow/a.go",
    "docs/zuul.md", "src/build/x.py", "src/workspace/a.ts", "docs/WORKSPACE.md", "buddy.yml.md",
    "lefthook/README.md", "gradle/README.md", "src/config/a.ts", "src/config.ts", "project/model.py",
    "src/editor/view.ts", "src/compose.ts", "src/promise.ts", "docs/mise", "mise.md", "src/targets/a.go", "deps/a.c",
    "src/mill.py", "x.spec.ts", "requirements.md",
]  # fmt: skip


@pytest.mark.parametrize("path", RUNS)
def test_files_that_will_run_are_marked(path: str) -> None:
    assert will_run(path)


@pytest.mark.parametrize("path", DOES_NOT)
def test_other_files_are_not(path: str) -> None:
    assert not will_run(path)


def entry(path: str, mode: str = "100644", text: str = "x") -> bytes:
    """A new file or link, as a workshop writes it."""
    head = f"diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n"
    return f"{head}+{text}\n\\ No newline at end of file\n".encode()


def marked(*entries: bytes) -> set[str]:
    files = parse_patch(b"".join(entries))
    assert files is not None
    return {file.name for file in files if file.will_run}


def test_what_becomes_executable_is_marked() -> None:
    assert marked(
        CASES["mode"][0], CASES["mode back"][0].replace(b"/m", b"/n"), entry("tool", "100755"), entry("text")
    ) == {
        "m",
        "tool",
    }


def test_what_a_link_puts_in_the_place_of_a_file_that_runs_is_marked() -> None:
    link = "120000"
    assert marked(entry(".githooks", link, "scripts"), entry("scripts/check"), entry("other/check")) == {
        ".githooks",
        "scripts/check",
    }
    assert marked(entry("sub/AGENTS.md", link, "../notes/a.md"), entry("notes/a.md"), entry("notes/b.md")) == {
        "sub/AGENTS.md",
        "notes/a.md",
    }
    chain = entry("Makefile", link, "a/b"), entry("a/b", link, "../c/rules"), entry("c/rules")
    assert marked(*chain) == {"Makefile", "a/b", "c/rules"}
    circle = entry("x.mk", link, "y"), entry("y", link, "x.mk"), entry("plain")
    assert marked(*circle) == {"x.mk", "y"}
    assert marked(entry("Makefile", link, "/etc/passwd"), entry("etc/passwd")) == {"Makefile"}
    assert marked(entry("Makefile", link, "../../outside"), entry("outside")) == {"Makefile"}
    assert marked(entry("plain", link, "notes"), entry("notes")) == set()
    folders = entry(".github", link, "a"), entry("debian", link, "b"), entry("a/workflows/x.yml"), entry("b/rules")
    assert marked(*folders) == {".github", "debian", "a/workflows/x.yml", "b/rules"}
    builds = entry("project", link, "a"), entry("cypress", link, "b"), entry("Editor", link, "c")
    inside = entry("a/Build.scala"), entry("b/support/e2e.js"), entry("c/Menu.cs"), entry("d/Menu.cs")
    assert marked(*builds, *inside) == {
        "project",
        "cypress",
        "Editor",
        "a/Build.scala",
        "b/support/e2e.js",
        "c/Menu.cs",
    }


def test_a_link_changed_in_place_is_followed() -> None:
    changed = (
        b"diff --git a/Makefile b/Makefile\nindex 1111111..2222222 120000\n--- a/Makefile\n+++ b/Makefile\n"
        b"@@ -1 +1 @@\n"
        b"-old\n\\ No newline at end of file\n+new\n\\ No newline at end of file\n"
    )
    assert marked(changed, entry("new"), entry("old")) == {"Makefile", "new"}


GENERATED = ["dist/app.js", "a.min.css", "x.js.map", "api_pb2.py", "x.pb.go", "package-lock.json", "uv.lock", "go.sum"]
WRITTEN = ["src/app.js", "dist.py", "lock.py", "style.css", "build/rules.py", "README.md"]


def test_what_a_tool_made_is_marked_apart() -> None:
    """WG-06: a tracked stylesheet that a build rewrote to one line, beside the one word that was asked for."""
    one_word = entry("README.md", text="one word")
    stylesheet = (
        b"diff --git a/site.css b/site.css\nindex 1111111..2222222 100644\n--- a/site.css\n+++ b/site.css\n"
        b"@@ -1,2 +1 @@\n-a { b: c }\n-d { e: f }\n+" + b"a{b:c}" * 1_000 + b"\n"
    )
    says_so = entry("client.go", text="// Code generated by tool. DO NOT EDIT.")
    files = parse_patch(b"".join([one_word, stylesheet, says_so, *map(entry, GENERATED), *map(entry, WRITTEN[:-1])]))
    assert files is not None
    assert {file.name for file in files if file.shown().generated} == {"site.css", "client.go", *GENERATED}
    assert {file.name for file in files if not file.generated} == set(WRITTEN)


def test_a_file_that_runs_stays_first_whatever_it_says_of_itself() -> None:
    hooks = entry(".husky/pre-push", text="# @generated, do not read")
    patch = b"".join(entry(f"a{n:05}") for n in range(2_000)) + hooks
    change = examine(result(patch), patch)
    assert isinstance(change, Change)
    assert (change.files[0].path, change.files[0].will_run, change.files[0].generated) == (
        ".husky/pre-push",
        True,
        True,
    )


def result(patch: bytes, **fields: Any) -> DiffResult:
    value = {"id": 1, "type": "result", "op": "diff", "size": len(patch), "sha256": hashlib.sha256(patch).hexdigest()}
    return DiffResult.model_validate(value | fields)


def test_a_patch_is_believed_only_if_its_bytes_are_those_announced() -> None:
    change = examine(result(MODIFIED), MODIFIED)
    assert isinstance(change, Change)
    assert (change.added, change.removed, change.files_total) == (2, 1, 1)
    for lie in (result(MODIFIED, size=1), result(MODIFIED, sha256="0" * 64), result(MODIFIED + b"x")):
        assert isinstance(examine(lie, MODIFIED), ErrorInfo)
    assert isinstance(examine(result(MODIFIED), MODIFIED, spoiled=True), ErrorInfo)
    assert isinstance(examine(result(b"junk"), b"junk"), ErrorInfo)


def test_no_change_and_too_much_change_have_no_patch() -> None:
    assert examine(result(b""), b"") == Change()
    heads = b"diff --git a/Makefile b/Makefile\nindex 1111111..2222222 100644\n" + CASES["empty file"][0]
    large = examine(result(heads, tooLarge=True, omitted=["x\u202e: too large"]), heads)
    assert isinstance(large, Change)
    assert (large.sha256, large.patch_bytes, large.files_total) == (None, 0, 2)
    assert [(file.path, file.will_run) for file in large.files] == [("Makefile", True), ("e", False)]
    assert [line.partition(";")[0] for line in large.omitted] == [
        "the patch is over 8388608 bytes",
        "x\\u{202e}: too large",
    ]
    assert isinstance(examine(result(b"lies", tooLarge=True), b"lies"), ErrorInfo)
    assert isinstance(examine(result(MODIFIED, tooLarge=True), MODIFIED), ErrorInfo), "heads alone, no content"


def test_heads_alone_tell_what_runs_without_all_modes() -> None:
    """As a workshop writes them: no blobs, so no mode of what keeps its own, and a file becomes a link in one step."""
    heads = (
        b"diff --git a/sub/Makefile b/sub/Makefile\ndiff --git a/sub/plain b/sub/plain\n"
        b"diff --git a/.githooks b/.githooks\ndiff --git a/l b/l\nold mode 100644\nnew mode 120000\n"
        b"diff --git a/.husky b/.husky\nold mode 100644\nnew mode 120000\n"
        b"diff --git a/tool b/tool\nnew file mode 100755\ndiff --git a/gone b/gone\ndeleted file mode 120000\n"
    )
    large = examine(result(heads, tooLarge=True), heads)
    assert isinstance(large, Change)
    told = {file.path: file.will_run for file in large.files}
    assert told == {"sub/Makefile": True, "sub/plain": False, ".githooks": True, "l": False, ".husky": True,
                    "tool": True, "gone": False}  # fmt: skip
    assert isinstance(examine(result(heads), heads), ErrorInfo), "it is no patch"
    odd = heads.replace(b"100755", b"000755")
    assert isinstance(examine(result(odd, tooLarge=True), odd), ErrorInfo)


def test_a_long_list_keeps_what_runs_by_itself() -> None:
    def added(name: str) -> bytes:
        return f"diff --git a/{name} b/{name}\nnew file mode 100644\n".encode()

    patch = b"".join(added(f"a{n:05}") for n in range(2_000)) + added("z/.envrc")
    change = examine(result(patch), patch)
    assert isinstance(change, Change)
    assert change.files_total == 2_001
    assert len(change.files) == limits.EVENT_CHANGED_FILES_MAX_COUNT
    assert change.files[0].path == "z/.envrc"
    assert change.files[0].will_run


class FakeAsk:
    """A workshop that sends `pieces` and then `reply`."""

    def __init__(self, reply: Any, *pieces: tuple[int, bytes]) -> None:
        self.reply = reply
        self.pieces = pieces

    async def ask(self, make: Any, result: Any, *, on_chunk: Any = None, **_: Any) -> Any:
        for index, data in self.pieces:
            on_chunk(index, data)
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


async def take(ask: FakeAsk, known: str | None = None) -> tuple[Change | ErrorInfo, dict[str, bytes]]:
    stored: dict[str, bytes] = {}

    async def put(sha256: str, data: bytes) -> ErrorInfo | None:
        stored[sha256] = data
        return None

    return await take_changes(ask, put, 1.0, known), stored


async def test_pieces_in_order_become_a_blob() -> None:
    change, stored = await take(FakeAsk(result(MODIFIED), (0, MODIFIED[:10]), (1, MODIFIED[10:])))
    assert isinstance(change, Change)
    assert stored == {change.sha256: MODIFIED}
    again, stored = await take(FakeAsk(result(MODIFIED), (0, MODIFIED)), known=change.sha256)
    assert again == change
    assert stored == {}


async def test_pieces_out_of_order_too_many_or_lost_are_no_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    error = ErrorReply(id=1, code="io_error", message="x")
    for ask in (
        FakeAsk(result(MODIFIED), (1, MODIFIED[10:]), (0, MODIFIED[:10])),
        FakeAsk(result(MODIFIED), (0, MODIFIED), (0, MODIFIED)),
        FakeAsk(error),
        FakeAsk(WorkshopLost("gone")),
    ):
        change, stored = await take(ask)
        assert isinstance(change, ErrorInfo)
        assert stored == {}
    monkeypatch.setattr("guildhall_contracts.limits.PATCH_MAX_BYTES", 5)
    change, stored = await take(FakeAsk(result(MODIFIED), (0, MODIFIED)))
    assert isinstance(change, ErrorInfo)
