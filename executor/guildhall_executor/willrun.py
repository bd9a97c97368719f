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
    cakefile sconstruct sconscript wscript cmakelists.txt cmakepresets.json meson.build meson_options.txt build.ninja
    build.xml build.rs cargo.toml build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties
    gradlew gradlew.bat mvnw mvnw.cmd pom.xml build.sbt build.sc build.zig mix.exs rebar.config project.clj deps.edn
    shadow-cljs.edn package.swift configure configure.ac configure.in autogen.sh bootstrap.sh go.work .golangci.yml
    .golangci.yaml .goreleaser.yml .goreleaser.yaml build.bazel workspace.bazel module.bazel .bazelrc .bazelversion buck
    .buckconfig pants.toml earthfile tiltfile skaffold.yaml magefile.go flake.nix shell.nix default.nix devenv.nix
    global.json nuget.config directory.build.props directory.build.targets directory.packages.props composer.json dune
    dune-project stack.yaml binding.gyp lerna.json nx.json turbo.json rush.json build workspace workspace.bzlmod bazel
    .bazeliskrc targets .plzconfig build.plz build.pants gradle-wrapper.properties gradle-wrapper.jar
    gradle-daemon-jvm.properties libs.versions.toml maven-wrapper.properties maven-wrapper.jar mill mill.bat millw
    .mill-opts .mill-jvm-opts sbt build.properties .sbtopts .jvmopts .sbtrc .scalafix.conf build.boot profiles.clj
    user.clj rust-toolchain rust-toolchain.toml cross.toml trunk.toml tauri.conf.json build.zig.zon
    cmakeuserpresets.json conanfile.py conanfile.txt vcpkg.json vcpkg-configuration.json xmake.lua premake4.lua
    premake5.lua .ycm_extra_conf.py waf jamfile jamroot jamfile.v2 jamroot.jam tupfile tuprules.tup meson.options
    build.pl cpanfile dist.ini kbuild kconfig android.bp deps .gclient presubmit.py moz.build moz.configure mach
    config.guess config.sub install-sh ltmain.sh depcomp test-driver directory.build.rsp msbuild.rsp packages.config
    paket.dependencies dotnet-tools.json launchsettings.json project.godot setup.hs setup.lhs .ghci cabal.project
    cabal.project.local hie.yaml package.yaml dune-workspace .merlin .ocamlinit myocamlbuild.ml rebar.config.script
    .iex.exs .formatter.exs .credo.exs config.exs runtime.exs config.nims nim.cfg shard.yml pubspec.yaml build.yaml
    analysis_options.yaml melos.yaml dub.json dub.sdl wails.json project.swift workspace.swift tuist.swift gymfile
    scanfile snapfile deliverfile matchfile pluginfile build.jl startup.jl makevars makevars.win makevars.in
    configure.win project.json moon.yml foundry.toml truffle-config.js pkgbuild apkbuild portfile preinst postinst prerm
    postrm snapcraft.yaml nfpm.yaml nfpm.yml doxyfile book.toml _quarto.yml mkdocs.yml _config.yml esy.json build.sh
"""
_PYTHON: Final = """
    setup.py setup.cfg pyproject.toml conftest.py noxfile.py tox.ini pytest.ini .pytest.ini .coveragerc .pylintrc
    pylintrc mypy.ini .mypy.ini .flake8 sitecustomize.py usercustomize.py tasks.py fabfile.py dodo.py hatch.toml
    hatch_build.py pdm_build.py pip.conf .pdbrc .pypirc ipython_config.py tox.toml pytest.toml .pytest.toml
    pylintrc.toml .pylintrc.toml .coveragerc.toml build.py pavement.py snakefile conf.py gunicorn.conf.py
    celeryconfig.py scrapy.cfg .flaskenv .pythonrc .pythonrc.py uv.toml pixi.toml .condarc condarc meta.yaml recipe.yaml
    bld.bat jupyter_config.py jupyter_server_config.py jupyter_notebook_config.py jupyter_lab_config.py
    ipython_kernel_config.py pelicanconf.py
"""
_JAVASCRIPT: Final = """
    package.json .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs pnpm-workspace.yaml .pnp.cjs .pnp.js .pnp.loader.mjs
    gulpfile.js gulpfile.ts gruntfile.js .babelrc .babelrc.js .eslintrc .eslintrc.js .eslintrc.cjs .eslintrc.json
    .eslintrc.yml .prettierrc.js .prettierrc.cjs .mocharc.js .mocharc.cjs .mocharc.yml .mocharc.json .nycrc .nycrc.json
    .lintstagedrc .lintstagedrc.js .lintstagedrc.json .huskyrc .huskyrc.json .huskyrc.js .swcrc karma.conf.js
    protractor.conf.js deno.json deno.jsonc bunfig.toml nodemon.json angular.json .postcssrc.js .stylelintrc.js
    .pnpmfile.mjs esbuild.js esbuild.mjs webpack.mix.js ember-cli-build.js .ember-cli .eslintrc.yaml .babelrc.json
    .prettierrc .prettierrc.json .prettierrc.yml .prettierrc.yaml .prettierrc.toml .mocharc.jsonc .mocharc.yaml
    mocha.opts jasmine.json jasmine.mjs .taprc .nycrc.yml .nycrc.yaml .c8rc.json .lintstagedrc.yml .lintstagedrc.yaml
    .commitlintrc .commitlintrc.json .commitlintrc.yml .commitlintrc.yaml .stylelintrc .stylelintrc.json
    .stylelintrc.yml .stylelintrc.yaml .postcssrc .postcssrc.json .postcssrc.yml .parcelrc .releaserc .releaserc.json
    .releaserc.yml .releaserc.yaml .release-it.json .release-it.yml .release-it.yaml .release-it.toml
    .markdownlint-cli2.jsonc .markdownlint-cli2.yaml .remarkrc .remarkrc.json .remarkrc.yml .eleventy.js .eleventy.cjs
    gatsby-config.js gatsby-config.ts gatsby-node.js gatsby-node.ts setuptests.js setuptests.ts electron-builder.yml
    electron-builder.yaml electron-builder.json electron-builder.json5 ecosystem.json ionic.config.json
"""
_OTHER_LANGUAGES: Final = """
    gemfile .rspec .irbrc .pryrc .rubocop.yml config.ru .rprofile .renviron phpunit.xml phpunit.xml.dist
    .php-cs-fixer.php rector.php gems.rb .rspec-local .simplecov .rvmrc .powrc .yardopts .toys.rb appraisals steepfile
    berksfile puppetfile kitchen.yml .kitchen.yml extconf.rb spec_helper.rb rails_helper.rb test_helper.rb
    phpunit.dist.xml .php-cs-fixer.dist.php .php_cs .php_cs.dist phpstan.neon phpstan.neon.dist phpstan.dist.neon
    psalm.xml psalm.xml.dist infection.json infection.json5 pest.php behat.yml behat.yml.dist codeception.yml
    robofile.php castor.php ecs.php .user.ini .htaccess web.config .proverc .lintr activate.r .busted .luacheckrc
    .luarc.json .luarc.jsonc
"""
_HOOKS_AND_SHELLS: Final = """
    .pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml lefthook.yml lefthook.yaml .lefthook.yml
    lefthook-local.yml .overcommit.yml .gitmodules .gitattributes .gitconfig .lfsconfig .hgrc .envrc .env .direnvrc
    .tool-versions mise.toml .mise.toml .autoenv .autoenv.zsh .bashrc .bash_profile .bash_login .bash_logout .profile
    .zshrc .zshenv .zprofile .zlogin .kshrc .cshrc .tcshrc .inputrc .screenrc .tmux.conf .gdbinit .lldbinit .vimrc .exrc
    .nvimrc .nvim.lua .dir-locals.el .emacs authorized_keys crontab pre-commit prepare-commit-msg commit-msg post-commit
    pre-merge-commit post-checkout post-merge post-rewrite pre-push pre-rebase pre-auto-gc applypatch-msg pre-applypatch
    post-applypatch pre-receive post-receive post-update proc-receive reference-transaction push-to-checkout
    fsmonitor-watchman sendemail-validate prek.toml lefthook.toml lefthook.json .lefthook.yaml .lefthook.toml
    .lefthook.json lefthook-local.yaml lefthook-local.toml lefthook-local.json .lefthook-local.yml .lefthook-local.yaml
    .lefthook-local.toml captainhook.json grumphp.yml grumphp.yml.dist grumphp.yaml .simple-git-hooks.json
    simple-git-hooks.json .rusty-hook.toml hk.pkl .huskyrc.yml .huskyrc.yaml p4-pre-submit p4-changelist config
    .rtx.toml .sdkmanrc devbox.json devenv.yaml guix.scm manifest.scm .zlogout .bash_aliases .login .logout .xinitrc
    .xprofile .xsession .xsessionrc config.fish .vimrc.local .lvimrc _vimrc init.vim .dir-locals-2.el .project .cproject
    post-index-change p4-prepare-changelist p4-post-changelist
"""
_CI: Final = """
    jenkinsfile .travis.yml .gitlab-ci.yml .drone.yml .drone.yaml .drone.star .drone.jsonnet .woodpecker.yml
    .woodpecker.yaml azure-pipelines.yml azure-pipelines.yaml .vsts-ci.yml .vsts-ci.yaml bitbucket-pipelines.yml
    appveyor.yml appveyor.yaml .appveyor.yml .appveyor.yaml cloudbuild.yaml cloudbuild.yml cloudbuild.json buildspec.yml
    buildspec.yaml wercker.yml .cirrus.yml .cirrus.yaml .cirrus.star codefresh.yml codemagic.yaml .semaphore.yml
    .sourcehut.yml .build.yml action.yml action.yaml dependabot.yml renovate.json renovate.json5 .renovaterc
    .renovaterc.json .renovaterc.json5 .mergify.yml netlify.toml vercel.json fly.toml render.yaml heroku.yml procfile
    app.yaml app.json serverless.yml samconfig.toml .readthedocs.yml .readthedocs.yaml readthedocs.yml amplify.yml
    .zuul.yaml .zuul.yml zuul.yaml zuul.yml .prow.yaml bitrise.yml .vela.yml .vela.yaml .onedev-buildspec.yml
    wrangler.toml wrangler.json wrangler.jsonc screwdriver.yaml .space.kts .packit.yaml .packit.yml packit.yaml
    packit.yml shippable.yml .platform.app.yaml buddy.yml buddy.yaml .scrutinizer.yml circle.yml buildkite.yml
    buildkite.yaml buildkite.json codeship-steps.yml codeship-services.yml .shippable.yml .gitlab-ci.yaml .concourse.yml
    garden.yml garden.yaml .codeclimate.yml azure.yaml azure.yml appspec.yml appspec.yaml apprunner.yaml
    dockerrun.aws.json captain-definition project.toml nixpacks.toml railway.json railway.toml scalingo.json zeabur.json
    firebase.json apphosting.yaml vercel.ts now.json cdk.json pulumi.yaml pulumi.yml atlantis.yaml digger.yml env0.yml
    env0.yaml fleet.yaml .argocd-source.yaml helmfile.yaml helmfile.yml devspace.yaml okteto.yml okteto.yaml werf.yaml
    dagger.json mergify.yml bors.toml .kodiak.toml .bulldozer.yml .policy.yml .asf.yaml codeowners owners owners_aliases
"""
_CONTAINERS: Final = """
    dockerfile containerfile docker-compose.yml docker-compose.yaml docker-compose.override.yml compose.yml compose.yaml
    docker-bake.hcl vagrantfile devcontainer.json .devcontainer.json .gitpod.yml .gitpod.dockerfile .replit replit.nix
    chart.yaml kustomization.yaml kustomization.yml ansible.cfg devcontainer-feature.json devfile.yaml .devfile.yaml
    .lando.yml .lando.yaml skaffold.yml
"""
_AGENTS: Final = """
    agents.md agent.md agents.override.md claude.md claude.local.md gemini.md codex.md qwen.md warp.md crush.md goose.md
    .goosehints .cursorrules .cursorignore .windsurfrules .clinerules .roorules .roomodes .rules .aider.conf.yml
    .aider.conf.yaml copilot-instructions.md .mcp.json mcp.json opencode.json opencode.jsonc .opencode.json .junie.md
    skill.md .kilocodemodes .kilocoderules replit.md airules.md grok.md iflow.md .coderabbit.yaml .coderabbit.yml
    greptile.json sweep.yaml .pr_agent.toml mcp_config.json mcp-config.json claude_desktop_config.json smithery.yaml
    .openhands_instructions
"""
_NAMES: Final = frozenset(
    " ".join([_BUILD, _PYTHON, _JAVASCRIPT, _OTHER_LANGUAGES, _HOOKS_AND_SHELLS, _CI, _CONTAINERS, _AGENTS]).split()
)
_RUN_IN: Final = """
    .git .githooks git-hooks .husky .circleci .buildkite .gitlab .forgejo .gitea .woodpecker .tekton .teamcity
    .semaphore .builds .devcontainer .vscode .vs .idea .run .zed .fleet .cursor .claude .codex .gemini .windsurf .cline
    .clinerules .roo .continue .kiro .amazonq .junie .trae .augment .opencode .goose .qwen .crush .agent .agents .aider
    .cargo .mvn .yarn .bundle .config .hg .ssh .direnv .mise systemd cron.d .sublime zuul.d .zuul.d .prow .harness
    .azure-pipelines .pipelines .agola .lefthook .lefthook-local .git-hooks githooks .hooks .cargo-husky .vite-hooks
    .trunk .buddy .platform .upsun .ebextensions .elasticbeanstalk .azuredevops azure-pipelines buildkite .concourse
    .argo-ci .testkube .do .copr .spacelift .terraform .dagger helmfile.d ci_scripts .ddev .docksal .tugboat
    .codesandbox .idx .theia .nova .helix .vim .emacs.d conf.d .externaltoolbuilders nbproject buildsrc build-logic
    mill-build site_scons magefiles .nuke .paket .clj-kondo .moon .storybook .vitepress .vuepress _plugins .ipython
    .jupyter .flox .jj .sl .svn .bzr .claude-plugin .factory .openhands .tabnine .aiassistant .kilocode .warp .ruler
    .rules .ai .serena .bolt .grok .iflow
"""
_FOLDERS: Final = frozenset(_RUN_IN.split())
_GITHUB: Final = re.compile(r"(^|/)\.github/(workflows|actions|hooks|instructions|prompts|agents|chatmodes|skills)/")
_ENDINGS: Final = (
    ".mk", ".mak", ".pth", ".service", ".timer", ".gradle", ".cmake", ".code-workspace", ".bazel", ".bzl", ".nix",
    ".gemspec", ".podspec", ".csproj", ".vbproj", ".fsproj", ".vcxproj", ".targets", ".props", ".cabal", ".opam", ".tf",
    ".hcl", ".sublime-project", ".desktop", ".rake", ".gyp", ".gypi", ".mdc", ".gocd.yaml", ".gocd.yml", ".gocd.json",
    ".jenkinsfile", ".sbt", ".mill", ".gradle.kts", ".gradle.dcl", ".m4", ".gn", ".gni", ".pro", ".pri", ".qbs",
    ".spec", ".proj", ".pubxml", ".projitems", ".esproj", ".cake", ".pbxproj", ".xcscheme", ".xcconfig", ".uproject",
    ".uplugin", ".build.cs", ".target.cs", ".nimble", ".rockspec", ".tofu", ".tf.json", ".socket", ".path",
    ".container", ".preinst", ".postinst", ".prerm", ".postrm", ".gitlab-ci.yml", ".garden.yml", ".ebuild",
)  # fmt: skip
_CONFIGS: Final = re.compile(
    r"(^|/)[\w.-]+\.(config|conf|setup|workspace)\.(js|cjs|mjs|ts|cts|mts)$|(^|/)(dockerfile|containerfile|jenkinsfile|"
    r"makefile)\.[\w.-]+$|(^|/)[\w.-]+\.(dockerfile|instructions\.md|prompt\.md|chatmode\.md)$|(^|/)\.env\.[\w.-]+$|"
    r"(^|/)\.?[\w-]*rc\.(js|cjs|mjs|ts)$|(^|/)debian/rules$|(^|/)project/[\w.-]+\.scala$|(^|/)editor/[\w.-]+\.cs$|"
    r"(^|/)cypress/(plugins|support)/|(^|/)\.?mise(\.[\w-]+)*\.toml$|(^|/)procfile\.[\w.-]+$|"
    r"(^|/)(pulumi|docker-compose|compose)\.[\w.-]+\.ya?ml$|(^|/)(package@swift|\.argocd-source)-[\w.-]+$"
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
