"""G1, G2: a hostile repository or server makes the fetcher run nothing, write nowhere else and keep nothing half-made.

Each case is a real server and the fetcher as its pod starts it; the control is the same repository without its poison.
"""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.fetching import MIB, Pod, Servers, servers
from support.repositories import Repository, ordinary, repository


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with servers(tmp_path_factory.mktemp("hostile")) as found:
        ordinary(found.root)
        yield found


@pytest.fixture
def pod(tmp_path: Path, served: Servers) -> Pod:
    return Pod(tmp_path / "pod", ca=served.ca)


def _dot_git(made: Repository, name: bytes) -> None:
    config = made.blob(b"[core]\n\tfsmonitor = touch /tmp/ran\n")
    hook = made.blob(b"#!/bin/sh\ntouch /tmp/ran\n")
    hooks = made.tree(("100755", b"post-checkout", hook))
    made.commit(made.tree(("40000", name, made.tree(("100644", b"config", config), ("40000", b"hooks", hooks)))))


def _link_then_file(made: Repository) -> None:
    """A link `a` to a folder outside, and a file `a/evil` that would go through it."""
    folder = made.tree(("100644", b"evil", made.blob(b"x")))
    made.commit(made.tree(("120000", b"a", made.blob(b"../..")), ("40000", b"a", folder)))


def _named(name: bytes, mode: str = "100644") -> Callable[[Repository], None]:
    def build(made: Repository) -> None:
        made.commit(made.tree((mode, name, made.blob(b"/etc"))))

    return build


HOSTILE: dict[str, Callable[[Repository], None]] = {
    "a .git folder": lambda made: _dot_git(made, b".git"),
    "a .GIT folder": lambda made: _dot_git(made, b".GIT"),
    "a git~1 folder": lambda made: _dot_git(made, b"git~1"),
    "a .git folder hidden from HFS": lambda made: _dot_git(made, ".g\u200cit".encode()),
    "a symlinked .git": _named(b".git", "120000"),
    "a .git file": _named(b".git"),
    "a symlinked .gitmodules": _named(b".gitmodules", "120000"),
    "a name that climbs": _named(b".."),
    "a name with a slash": _named(b"../../evil"),
    "an absolute name": _named(b"/etc/evil"),
    "a link and a file behind it": _link_then_file,
    "a .orchestration": _named(b".orchestration"),
    "a .Orchestration": _named(b".Orchestration"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_git_or_guildhall_must_not_take_is_refused(pod: Pod, served: Servers, what: str) -> None:
    name = f"hostile-{list(HOSTILE).index(what)}.git"
    HOSTILE[what](repository(served.root, name))
    message = pod.fetch(served.git(name))
    assert message.outcome == "hostile", message
    assert pod.left_nothing()
    assert pod.fetch(served.git("good.git")).outcome == "fetched", "control: the same pod takes a sound one"


def test_a_submodule_address_that_is_an_option_is_refused(pod: Pod, served: Servers) -> None:
    made = repository(served.root, "option.git")
    modules = made.blob(b'[submodule "x"]\n\tpath = x\n\turl = -u./payload\n')
    made.commit(made.tree(("100644", b".gitmodules", modules), ("160000", b"x", "1" * 40)))
    message = pod.fetch(served.git("option.git"))
    assert (message.outcome, "gitmodulesUrl" in message.message) == ("hostile", True)


def test_a_submodule_address_that_is_a_program_is_ignored_and_said(pod: Pod, served: Servers, tmp_path: Path) -> None:
    made = repository(served.root, "program.git")
    sign = tmp_path / "ran"
    modules = made.blob(
        f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch {sign}"\n\tupdate = checkout\n'.encode()
    )
    made.commit(made.tree(("100644", b".gitmodules", modules), ("160000", b"x", "1" * 40)))
    source = pod.fetch(served.git("program.git")).source
    assert source is not None
    assert (source.submodules, source.submodule_paths) == (1, ["x"])
    assert not sign.exists()


def test_filters_and_attributes_of_the_repository_run_nothing(pod: Pod, served: Servers, tmp_path: Path) -> None:
    """G1: drivers are named in attributes but live in a config, and none is read."""
    made = repository(served.root, "filters.git")
    sign = tmp_path / "ran"
    made.files(
        {
            ".gitattributes": b"* filter=evil diff=evil merge=evil\nidle working-tree-encoding=UTF-16 ident\n",
            ".gitconfig": f'[filter "evil"]\n\tsmudge = touch {sign}; cat\n\trequired\n'.encode(),
            "file": b"$Id$\n",
        }
    )
    assert pod.fetch(served.git("filters.git")).outcome == "fetched"
    assert (pod.tree / "file").read_bytes() == b"$Id$\n"
    assert not sign.exists()


def test_no_config_of_the_machine_or_environment_is_read(pod: Pod, served: Servers, tmp_path: Path) -> None:
    sign, home = tmp_path / "ran", tmp_path / "home"
    home.mkdir()
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {sign}\nexit 1\n")
    program.chmod(0o755)
    config = f"[core]\n\tfsmonitor = {program}\n\thooksPath = {tmp_path}\n\tsshCommand = {program}\n"
    (home / ".gitconfig").write_text(f'{config}[url "https://evil.invalid/"]\n\tinsteadOf = git://\n')
    pod.environment = {
        "HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"), "GIT_SSH_COMMAND": str(program),
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": str(program),
        "GIT_TEMPLATE_DIR": str(tmp_path), "GIT_EXTERNAL_DIFF": str(program), "GIT_ASKPASS": str(program),
        "GIT_PROXY_COMMAND": str(program),
    }  # fmt: skip
    assert pod.fetch(served.git("good.git")).outcome == "fetched"
    assert not sign.exists()
    assert "evil" not in pod.git("config", "--list")


def test_a_redirect_is_not_followed(pod: Pod, served: Servers) -> None:
    """Neither to an inner address nor with what a Secret holds."""
    (served.root / "redirect.to").write_text(f"https://127.0.0.1:{served.https_port}")
    before = len(served.requests)
    pod.secret = {"host": f"localhost:{served.https_port}".encode(), "password": b"sesame-sesame"}
    message = pod.fetch(served.https("redirect/good.git"))
    assert (message.outcome, "redirects" in message.message) == ("refused", True)
    asked = served.requests[before:]
    assert asked, "control: the first request arrived"
    assert all(line.split()[1].startswith("/redirect/") for line in asked), asked


def test_a_pack_that_swells_is_stopped_before_a_file_is_written(pod: Pod, served: Servers) -> None:
    """A bomb: 2 GiB of zeros in a pack of 2 MiB; the bound is the workspace's size."""
    made = repository(served.root, "bomb.git")
    blob = made.blob(b"\0" * (48 * MIB))
    made.commit(made.tree(*((("100644", f"f{i:03}".encode(), blob)) for i in range(44))))
    message = pod.fetch(served.git("bomb.git"), maxBytes=64 * MIB)
    assert (message.outcome, "storage.size" in message.message) == ("too_large", True)
    assert pod.left_nothing()
    assert pod.fetch(served.git("bomb.git"), maxBytes=4096 * MIB, timeoutSeconds=1).outcome == "timed_out"


def test_a_tree_that_multiplies_is_stopped_by_count(pod: Pod, served: Servers) -> None:
    """Ten trees deep, ten wide: ten thousand million files in some kilobytes."""
    made = repository(served.root, "endless.git")
    node = made.tree(*(("100644", f"f{i}".encode(), made.blob(b"x")) for i in range(10)))
    for _ in range(9):
        node = made.tree(*(("40000", f"d{i}".encode(), node) for i in range(10)))
    made.commit(node)
    message = pod.fetch(served.git("endless.git"), maxFiles=5_000)
    assert (message.outcome, "5000 files" in message.message) == ("too_large", True)
    assert pod.left_nothing()


def test_a_history_larger_than_the_workspace_is_stopped_while_it_arrives(pod: Pod, served: Servers) -> None:
    made = repository(served.root, "large.git")
    made.files({"noise": secrets.token_bytes(3 * MIB)})
    message = pod.fetch(served.git("large.git"), maxBytes=1 * MIB)
    assert message.outcome == "too_large", message
    assert pod.left_nothing()


def test_hostile_ref_names_of_a_server_become_nothing_here(pod: Pod, served: Servers) -> None:
    """HEAD of the server names a branch that would be an option or a path; the checkout is then detached."""
    made = ordinary(served.root, "refs.git")
    evil = "refs/heads/-oProxyCommand=x"
    (made.path / evil).write_text(made.git("rev-parse", "main") + "\n")
    (made.path / "HEAD").write_text(f"ref: {evil}\n")
    message = pod.fetch(served.git("refs.git"))
    assert message.outcome == "fetched", message
    assert pod.git("rev-parse", "--abbrev-ref", "HEAD") == "HEAD"
    assert pod.git("for-each-ref", "--format=%(refname)") == ""


def test_names_that_fall_together_are_two_files_where_case_counts(pod: Pod, served: Servers) -> None:
    """And are refused where it does not (tests/unit/fetcher/test_tree.py: no such volume is here to mount)."""
    made = repository(served.root, "case.git")
    made.files({"xt_MARK.c": b"upper\n", "xt_mark.c": b"lower\n"})
    assert pod.fetch(served.git("case.git")).outcome == "fetched"
    assert {path.read_text() for path in pod.tree.glob("xt_*")} == {"upper\n", "lower\n"}


def test_submodules_and_folders_are_counted_as_files_are(pod: Pod, served: Servers) -> None:
    """Each becomes a folder on the volume, and none has bytes that would count."""
    made = repository(served.root, "modules.git")
    node = made.tree(*(("160000", f"m{i}".encode(), "1" * 40) for i in range(10)))
    for _ in range(4):
        node = made.tree(*(("40000", f"d{i}".encode(), node) for i in range(10)))
    made.commit(node)
    message = pod.fetch(served.git("modules.git"), maxFiles=5_000)
    assert (message.outcome, "more than 5000" in message.message) == ("too_large", True), message
    assert pod.left_nothing()

    made = repository(served.root, "folders.git")
    chain = made.tree(("100644", b"f", made.blob(b"x")))
    for _ in range(40):
        chain = made.tree(("40000", b"d", chain))
    made.commit(made.tree(*(("40000", f"t{i:02}".encode(), chain) for i in range(40))))
    message = pod.fetch(served.git("folders.git"), maxFiles=1_000)
    assert (message.outcome, "1000 folders" in message.message) == ("too_large", True), message
    assert pod.left_nothing()
    assert pod.fetch(served.git("folders.git"), maxFiles=2_000).outcome == "fetched", "control: so many are fine"


def test_a_path_of_thousands_of_folders_is_refused(pod: Pod, served: Servers) -> None:
    made = repository(served.root, "deep.git")
    chain = made.tree(("100644", b"f", made.blob(b"x")))
    for _ in range(1_500):
        chain = made.tree(("40000", b"d", chain))
    made.commit(chain)
    message = pod.fetch(served.git("deep.git"))
    assert (message.outcome, "256 folders" in message.message) == ("hostile", True), message
    assert pod.left_nothing()
