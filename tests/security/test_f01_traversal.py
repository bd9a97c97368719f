"""F1, F2, F3: no path and no link leads a file tool out of the workspace; links that stay inside work."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import frames
from support.workshop import Client, b64, running, snapshot, unb64

pytestmark = pytest.mark.go

SECRET = "the secret outside"
FIELDS: dict[type[frames.PathRequest], dict[str, Any]] = {
    frames.ReadRequest: {},
    frames.WriteRequest: {"data": b64("overwritten")},
    frames.EditRequest: {"old": b64("secret"), "new": b64("edited")},
    frames.ListRequest: {},
    frames.SearchRequest: {"pattern": "secret"},
    frames.MkdirRequest: {},
    frames.DeleteRequest: {"recursive": True},
}
ALL_OPERATIONS = [*FIELDS, frames.StatRequest]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Path, Client]]:
    """A workspace beside things it must not touch, and a client."""
    for name in ("workspace/sub", "outside", "workspace-evil"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("outside/secret", "workspace-evil/x"):
        (tmp_path / name).write_text(SECRET)
    (tmp_path / "workspace" / "file").write_text("a secret inside\n")
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        yield tmp_path, client


def outside(base: Path) -> dict[str, dict[str, str]]:
    return {name: snapshot(base / name) for name in ("outside", "workspace-evil")}


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd", "/etc/passwd", "/workspace/../etc/passwd", "/workspace-evil/x", "../workspace-evil/x",
        "../outside/secret", "sub/../../outside/secret", "..", "/", "./../outside", "sub/./../../outside/secret",
        "/proc/self/environ", "/proc/self/mem", "/proc/1/mem", "/proc/self/root/etc/passwd", "..//outside/secret",
    ],
)  # fmt: skip
@pytest.mark.parametrize("operation", ALL_OPERATIONS)
def test_f1_paths_that_leave_are_refused(
    place: tuple[Path, Client], operation: type[frames.PathRequest], path: str
) -> None:
    base, client = place
    before = outside(base)
    answer = client.call(operation, path=path, **FIELDS.get(operation, {}))
    assert answer.code == "permission_denied"
    assert str(base) not in answer.last.message
    assert outside(base) == before
    assert unb64(client.call(frames.ReadRequest, path="sub/../file").last.data) == b"a secret inside\n"  # control


@pytest.mark.parametrize("path", ["%2e%2e/outside/secret", "..data", "...", "~/x", "~root", "$HOME"])
def test_f1_names_that_only_look_like_leaving_are_names(place: tuple[Path, Client], path: str) -> None:
    base, client = place
    assert not client.call(frames.WriteRequest, path=path, data=b64("ours")).code
    assert (base / "workspace" / path).read_text() == "ours"


LINKS = {
    "absolute": "{base}/outside/secret",
    "relative": "../outside/secret",
    "chain": "chain2",
    "dangling": "sub/nothing",
    "dangling-out": "../outside/new",
    "proc": "/proc/self/environ",
    "memory": "/proc/self/mem",
    "folder": "../outside",
    "folder-absolute": "{base}/outside",
    "root": "/",
    "loop": "loop",
    "absolute-inside": "{base}/workspace/file",
}


NOTHING_THERE = {"dangling"}  # leads to nothing inside: reading may say so, the rest is refused
GOOD = {frames.ListRequest: "good-folder", frames.SearchRequest: "good-folder", frames.MkdirRequest: "good-folder/made"}


def works_through_good_links(base: Path, client: Client, operation: type[frames.PathRequest]) -> bool:
    """The same operation, asked the same way, has its effect through links that stay inside."""
    before = snapshot(base / "workspace")
    last = client.call(operation, path=GOOD.get(operation, "good"), **FIELDS[operation]).last
    reads = {frames.ReadRequest: "data", frames.ListRequest: "entries", frames.SearchRequest: "matches"}
    return bool(getattr(last, reads[operation])) if operation in reads else snapshot(base / "workspace") != before


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("operation", FIELDS)
def test_f2_links_that_leave_are_refused(
    place: tuple[Path, Client], operation: type[frames.PathRequest], link: str
) -> None:
    base, client = place
    workspace = base / "workspace"
    (workspace / "sub" / "inner").write_text("a secret inside\n")
    (workspace / "good").symlink_to("sub/inner")
    (workspace / "good-folder").symlink_to("sub")
    (workspace / "chain2").symlink_to("../outside/secret")
    (workspace / link).symlink_to(LINKS[link].format(base=base))
    before, inside = outside(base), snapshot(workspace)
    answer = client.call(operation, path=link, **FIELDS[operation])
    through = client.call(operation, path=f"{link}/new", **FIELDS[operation])
    refusals = {"permission_denied", "not_found"} if link in NOTHING_THERE else {"permission_denied"}
    assert {answer.code, through.code} <= refusals
    assert str(base) not in answer.last.message + through.last.message
    assert outside(base) == before
    assert snapshot(workspace) == inside
    assert works_through_good_links(base, client, operation), "positive control"


def test_f2_lists_and_searches_do_not_follow_links_on_the_way(place: tuple[Path, Client]) -> None:
    base, client = place
    (base / "workspace" / "way").symlink_to("../outside")
    listed = client.call(frames.ListRequest, depth=9).last
    kinds = {entry.path: entry.kind for entry in listed.entries}
    assert kinds["way"] == "symlink"
    assert not [path for path in kinds if path.startswith("way/")]
    found = client.call(frames.SearchRequest, pattern="secret").last
    assert [match.path for match in found.matches] == ["file"]


def test_f3_links_that_stay_inside_work(place: tuple[Path, Client]) -> None:
    base, client = place
    workspace = base / "workspace"
    (workspace / "link").symlink_to("sub/../file")
    (workspace / "folder").symlink_to("sub")
    assert unb64(client.call(frames.ReadRequest, path="link").last.data) == b"a secret inside\n"
    assert client.call(frames.EditRequest, path="link", old=b64("secret"), new=b64("word")).last.replacements == 1
    assert not client.call(frames.WriteRequest, path="folder/new/deep", data=b64("x")).code
    assert [entry.path for entry in client.call(frames.ListRequest, path="folder").last.entries] == ["sub/new"]
    assert (workspace / "link").is_symlink()
    assert (workspace / "file").read_text() == "a word inside\n"
    assert (workspace / "sub" / "new" / "deep").read_text() == "x"
    assert not client.call(frames.DeleteRequest, path="link").code
    assert not (workspace / "link").exists()
    assert (workspace / "file").exists()


def test_f2_a_link_planted_while_we_work_is_not_followed(place: tuple[Path, Client]) -> None:
    """The shell swaps a folder and a link for as long as file tools write through the name."""
    base, client = place
    before = outside(base)
    swap = "mkdir d; for i in $(seq 400); do rm -rf d; ln -s ../outside d; rm d; mkdir d; done; echo swapped"
    shell = client.start(frames.ExecRequest, command=swap)
    codes = set()
    while shell not in client.ready:
        codes.add(client.call(frames.WriteRequest, path="d/new", data=b64("x"), make_parents=False).code)
    assert b"swapped" in client.finish(shell).text
    assert outside(base) == before
    assert "" in codes  # control: some of the writes did land in the folder
