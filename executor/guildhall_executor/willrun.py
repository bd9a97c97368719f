"""Which files run by themselves later: in a hook, a CI job, a build, an editor, or as instructions to another agent.

Guards against a change that looks like text and acts as code once a person merges it.
"""

import re
from typing import Final

_NAMES: Final = frozenset(
    [
        "makefile",
        "gnumakefile",
        "justfile",
        "taskfile.yml",
        "taskfile.yaml",
        "rakefile",
        "dockerfile",
        "containerfile",
        "jenkinsfile",
        "vagrantfile",
        "procfile",
        ".envrc",
        ".env",
        ".pre-commit-config.yaml",
        ".gitmodules",
        ".gitattributes",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".pnpmfile.cjs",
        "package.json",
        "setup.py",
        "setup.cfg",
        "pyproject.toml",
        "conftest.py",
        "noxfile.py",
        "tox.ini",
        "pytest.ini",
        "sitecustomize.py",
        "usercustomize.py",
        "tasks.py",
        "build.rs",
        "cargo.toml",
        "build.gradle",
        "build.gradle.kts",
        "settings.gradle",
        "pom.xml",
        "build.sbt",
        "gemfile",
        "configure",
        "configure.ac",
        "cmakelists.txt",
        "meson.build",
        "build.ninja",
        "build.xml",
        "gulpfile.js",
        "gruntfile.js",
        ".travis.yml",
        ".gitlab-ci.yml",
        ".drone.yml",
        "azure-pipelines.yml",
        "bitbucket-pipelines.yml",
        "appveyor.yml",
        ".appveyor.yml",
        "cloudbuild.yaml",
        "docker-compose.yml",
        "docker-compose.yaml",
        "compose.yml",
        "compose.yaml",
        "devcontainer.json",
        "agents.md",
        "claude.md",
        "gemini.md",
        "codex.md",
        ".cursorrules",
        ".windsurfrules",
        ".clinerules",
        ".aider.conf.yml",
        "copilot-instructions.md",
        ".mcp.json",
        ".bashrc",
        ".profile",
        ".bash_profile",
        ".zshrc",
    ]
)
_FOLDERS: Final = re.compile(
    r"(^|/)(\.git|\.githooks|\.husky|\.github/workflows|\.github/actions|\.circleci|\.buildkite|\.gitlab|\.forgejo|"
    r"\.gitea|\.devcontainer|\.vscode|\.idea|\.cursor|\.claude|\.codex|\.cargo|git-hooks|hooks)/"
)
_ENDINGS: Final = (".mk", ".pth", ".service", ".timer", ".gradle", ".cmake", ".code-workspace", ".bazel", ".bzl")
_CONFIGS: Final = re.compile(r"(^|/)[\w.-]+\.config\.(js|cjs|mjs|ts)$|(^|/)dockerfile\.[\w.-]+$")


def will_run(path: str) -> bool:
    """Whether the file at `path` (relative, with `/`) is of a kind that something runs or obeys unasked."""
    folded = path.casefold()
    name = folded.rpartition("/")[2]
    return (
        name in _NAMES
        or name.endswith(_ENDINGS)
        or _FOLDERS.search(folded) is not None
        or _CONFIGS.search(folded) is not None
    )
