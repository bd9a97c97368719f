"""A commit's listing is bounded, named and, where case does not count, without two names for one file."""

import pytest
from guildhall_contracts.fetch import FetchRequest
from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.tree import Listing, shown

REQUEST = FetchRequest(url="https://h/x", schemes=["https"], max_bytes=1_000, max_files=10, memory_bytes=1 << 20)


def _entry(path: str | bytes, size: int = 1, mode: str = "100644") -> bytes:
    name = path.encode() if isinstance(path, str) else path
    told = b"-" if mode == "160000" else str(size).encode()
    return f"{mode} blob {'a' * 40} ".encode() + told.rjust(7) + b"\t" + name + b"\0"


def test_entries_may_be_cut_anywhere() -> None:
    whole = _entry("a b") + _entry("c\nd", 5) + _entry("sub mod", mode="160000") + _entry(b"\xff")
    for size in (1, 7, 64, len(whole)):
        listing = Listing(REQUEST)
        for start in range(0, len(whole), size):
            listing(whole[start : start + size])
        assert (listing.files, listing.content_bytes) == (3, 7)
        assert (listing.submodules_count, listing.submodules) == (1, ["sub mod"])


@pytest.mark.parametrize(
    ("entries", "outcome"),
    [
        (b"".join(_entry(f"f{i}") for i in range(11)), "too_large"),
        (b"".join(_entry(f"s{i}", mode="160000") for i in range(11)), "too_large"),
        (_entry("f", 1_001), "too_large"),
        (_entry(".orchestration"), "hostile"),
        (_entry(".ORCHESTRATION/x"), "hostile"),
        (b"x" * 10_000, "hostile"),
    ],
)
def test_a_bound_stops_it_at_once(entries: bytes, outcome: str) -> None:
    with pytest.raises(FetchFailed) as failed:
        Listing(REQUEST)(entries)
    assert failed.value.outcome == outcome
    Listing(REQUEST)(b"".join(_entry(f"s{i}", mode="160000") for i in range(10)))  # control: so many are fine
    Listing(REQUEST)(_entry("src/.orchestration") + _entry(".orchestrations"))  # control: other names are fine


def test_the_history_counts_too() -> None:
    with pytest.raises(FetchFailed):
        Listing(REQUEST, taken_bytes=999)(_entry("f", 2))
    Listing(REQUEST, taken_bytes=998)(_entry("f", 2))


def test_folders_are_counted_once_each_and_bounded() -> None:
    """A pack holds one tree for all of them; a volume holds each."""
    listing = Listing(REQUEST)
    for path in ("a/b/x", "a/b/y", "a/c", "a/d/e/f", "g", "h/b/x"):
        listing(_entry(path))
    assert listing.folders == 6  # a, a/b, a/d, a/d/e, h, h/b
    listing(_entry("i/1/2/3/x"))
    with pytest.raises(FetchFailed, match="more than 10 folders"):
        listing(_entry("j/x"))


def test_a_path_of_very_many_folders_is_refused() -> None:
    Listing(REQUEST.model_copy(update={"max_files": 1_000}))(_entry("a/" * 256 + "x"))
    with pytest.raises(FetchFailed, match="256 folders"):
        Listing(REQUEST.model_copy(update={"max_files": 1_000}))(_entry("a/" * 257 + "x"))


@pytest.mark.parametrize(
    ("one", "other"), [("A/x", "a/y"), ("README", "readme"), ("stra\u00dfe", "STRASSE"), ("a", "A/b")]
)
def test_names_that_are_one_where_case_does_not_count_are_refused_there(one: str, other: str) -> None:
    both = _entry(one) + _entry(other)
    Listing(REQUEST)(both)  # control: where it counts they are two
    with pytest.raises(FetchFailed, match="one name on this volume"):
        Listing(REQUEST, tells_case=False)(both)
    Listing(REQUEST, tells_case=False)(_entry("a/x") + _entry("a/y"))


def test_a_shown_path_prints_whatever_it_is() -> None:
    assert shown("\u202eevil\n\x1b[31m".encode()) == "\\u202eevil\\n\\x1b[31m"
    assert shown(b"\xff\xfe") == "\\xff\\xfe"
    assert len(shown(b"x" * 500)) == 80
