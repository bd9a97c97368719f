"""Which files run by themselves later: in a hook, a CI job, a build, an editor, or as instructions to another agent.

Guards against a change that looks like text and acts as code once a person merges it. Wide rather than exact: a name
here costs a reader one glance, a name missing here costs him his machine.
"""

import re
import unicodedata
from typing import Final

_BUILD: Final = """
    makefile gnumakefile makefile.am makefile.in bsdmakefile justfile .justfile taskfile.yml taskfile.yaml
    taskfile.dist.yml rakefile thorfile guardfile capfile fastfile podfile brewfile dangerfile appfile jakefile.js
    cakefile sconstruct sconscript wscript cmakelists.txt cmakepresets.json meson.build meson_options.txt
    build.ninja build.xml build.rs cargo.toml build.gradle build.gradle.kts settings.gradle settings.gradle.kts
    gradle.properties gradlew gradlew.bat mvnw mvnw.cmd pom.xml build.sbt build.sc build.zig mix.exs rebar.config
    project.clj deps.edn shadow-cljs.edn package.swift configure configure.ac configure.in autogen.sh bootstrap.sh
    go.work .golangci.yml .golangci.yaml .goreleaser.yml .goreleaser.yaml build.bazel workspace.bazel module.bazel
    .bazelrc .bazelversion buck .buckconfig pants.toml earthfile tiltfile skaffold.yaml magefile.go flake.nix
    shell.nix default.nix devenv.nix global.json nuget.config directory.build.props directory.build.targets
    directory.packages.props composer.json dune dune-project stack.yaml binding.gyp lerna.json nx.json turbo.json
    rush.json
"""
_PYTHON: Final = """
    setup.py setup.cfg pyproject.toml conftest.py noxfile.py tox.ini pytest.ini .pytest.ini .coveragerc .pylintrc
    pylintrc mypy.ini .mypy.ini .flake8 sitecustomize.py usercustomize.py tasks.py fabfile.py dodo.py hatch.toml
    hatch_build.py pdm_build.py pip.conf .pdbrc .pypirc ipython_config.py
"""
_JAVASCRIPT: Final = """
    package.json .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs pnpm-workspace.yaml .pnp.cjs .pnp.js .pnp.loader.mjs
    gulpfile.js gulpfile.ts gruntfile.js .babelrc .babelrc.js .eslintrc .eslintrc.js .eslintrc.cjs .eslintrc.json
    .eslintrc.yml .prettierrc.js .prettierrc.cjs .mocharc.js .mocharc.cjs .mocharc.yml .mocharc.json .nycrc
    .nycrc.json .lintstagedrc .lintstagedrc.js .lintstagedrc.json .huskyrc .huskyrc.json .huskyrc.js .swcrc
    karma.conf.js protractor.conf.js deno.json deno.jsonc bunfig.toml nodemon.json angular.json .postcssrc.js
    .stylelintrc.js
"""
_OTHER_LANGUAGES: Final = """
    gemfile .rspec .irbrc .pryrc .rubocop.yml config.ru .rprofile .renviron phpunit.xml phpunit.xml.dist
    .php-cs-fixer.php rector.php
"""
_HOOKS_AND_SHELLS: Final = """
    .pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml lefthook.yml lefthook.yaml .lefthook.yml
    lefthook-local.yml .overcommit.yml .gitmodules .gitattributes .gitconfig .lfsconfig .hgrc .envrc .env .direnvrc
    .tool-versions mise.toml .mise.toml .autoenv .autoenv.zsh .bashrc .bash_profile .bash_login .bash_logout
    .profile .zshrc .zshenv .zprofile .zlogin .kshrc .cshrc .tcshrc .inputrc .screenrc .tmux.conf .gdbinit .lldbinit
    .vimrc .exrc .nvimrc .nvim.lua .dir-locals.el .emacs authorized_keys crontab pre-commit prepare-commit-msg
    commit-msg post-commit pre-merge-commit post-checkout post-merge post-rewrite pre-push pre-rebase pre-auto-gc
    applypatch-msg pre-applypatch post-applypatch pre-receive post-receive post-update proc-receive
    reference-transaction push-to-checkout fsmonitor-watchman sendemail-validate
"""
_CI: Final = """
    jenkinsfile .travis.yml .gitlab-ci.yml .drone.yml .drone.yaml .drone.star .drone.jsonnet .woodpecker.yml
    .woodpecker.yaml azure-pipelines.yml azure-pipelines.yaml .vsts-ci.yml .vsts-ci.yaml bitbucket-pipelines.yml
    appveyor.yml appveyor.yaml .appveyor.yml .appveyor.yaml cloudbuild.yaml cloudbuild.yml cloudbuild.json
    buildspec.yml buildspec.yaml wercker.yml .cirrus.yml .cirrus.yaml .cirrus.star codefresh.yml codemagic.yaml
    .semaphore.yml .sourcehut.yml .build.yml action.yml action.yaml dependabot.yml renovate.json renovate.json5
    .renovaterc .renovaterc.json .renovaterc.json5 .mergify.yml netlify.toml vercel.json fly.toml render.yaml
    heroku.yml procfile app.yaml app.json serverless.yml samconfig.toml .readthedocs.yml .readthedocs.yaml
    readthedocs.yml amplify.yml .zuul.yaml .zuul.yml zuul.yaml zuul.yml .prow.yaml bitrise.yml .vela.yml .vela.yaml
    .onedev-buildspec.yml wrangler.toml wrangler.json wrangler.jsonc screwdriver.yaml .space.kts .packit.yaml
    .packit.yml packit.yaml packit.yml shippable.yml
"""
_CONTAINERS: Final = """
    dockerfile containerfile docker-compose.yml docker-compose.yaml docker-compose.override.yml compose.yml
    compose.yaml docker-bake.hcl vagrantfile devcontainer.json .devcontainer.json .gitpod.yml .gitpod.dockerfile
    .replit replit.nix chart.yaml kustomization.yaml kustomization.yml ansible.cfg
"""
_AGENTS: Final = """
    agents.md agent.md agents.override.md claude.md claude.local.md gemini.md codex.md qwen.md warp.md crush.md
    goose.md .goosehints .cursorrules .cursorignore .windsurfrules .clinerules .roorules .roomodes .rules
    .aider.conf.yml .aider.conf.yaml copilot-instructions.md .mcp.json mcp.json opencode.json opencode.jsonc
    .opencode.json .junie.md skill.md
"""
_NAMES: Final = frozenset(
    " ".join([_BUILD, _PYTHON, _JAVASCRIPT, _OTHER_LANGUAGES, _HOOKS_AND_SHELLS, _CI, _CONTAINERS, _AGENTS]).split()
)
_RUN_IN: Final = """
    .git .githooks git-hooks .husky .circleci .buildkite .gitlab .forgejo .gitea .woodpecker .tekton .teamcity
    .semaphore .builds .devcontainer .vscode .vs .idea .run .zed .fleet .cursor .claude .codex .gemini .windsurf
    .cline .clinerules .roo .continue .kiro .amazonq .junie .trae .augment .opencode .goose .qwen .crush .agent
    .agents .aider .cargo .mvn .yarn .bundle .config .hg .ssh .direnv .mise systemd cron.d .sublime zuul.d .zuul.d
    .prow .harness .azure-pipelines .pipelines .agola
"""
_FOLDERS: Final = frozenset(_RUN_IN.split())
_GITHUB: Final = re.compile(r"(^|/)\.github/(workflows|actions|hooks|instructions|prompts|agents|chatmodes|skills)/")
_ENDINGS: Final = (
    ".mk", ".mak", ".pth", ".service", ".timer", ".gradle", ".cmake", ".code-workspace", ".bazel", ".bzl", ".nix",
    ".gemspec", ".podspec", ".csproj", ".vbproj", ".fsproj", ".vcxproj", ".targets", ".props", ".cabal", ".opam", ".tf",
    ".hcl", ".sublime-project", ".desktop", ".rake", ".gyp", ".gypi", ".mdc", ".gocd.yaml", ".gocd.yml",
    ".gocd.json", ".jenkinsfile",
)  # fmt: skip
_CONFIGS: Final = re.compile(
    r"(^|/)[\w.-]+\.(config|conf|setup|workspace)\.(js|cjs|mjs|ts|cts|mts)$|(^|/)(dockerfile|containerfile|jenkinsfile|"
    r"makefile)\.[\w.-]+$|(^|/)[\w.-]+\.(dockerfile|instructions\.md|prompt\.md|chatmode\.md)$|(^|/)\.env\.[\w.-]+$|"
    r"(^|/)\.?[\w-]*rc\.(js|cjs|mjs|ts)$|(^|/)debian/rules$"
)


def will_run(path: str) -> bool:
    """Whether the file at `path` (relative, with `/`) is of a kind that something runs or obeys unasked."""
    folded = "/".join(_as_a_disk_reads_it(part) for part in path.split("/"))
    folders, _, name = folded.rpartition("/")
    return (
        name in _NAMES
        or name.endswith(_ENDINGS)
        or not _FOLDERS.isdisjoint(folders.split("/"))
        or _GITHUB.search(folded) is not None
        or _CONFIGS.search(folded) is not None
    )


def _as_a_disk_reads_it(part: str) -> str:
    """Case, invisible characters and trailing dots and blanks are nothing to some file systems."""
    shown = "".join(char for char in part if unicodedata.category(char) != "Cf")
    return shown.casefold().rstrip(". ") or shown
