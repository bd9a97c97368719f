"""A tag moves with everything that decides an image's content, and with nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from images.imaging import context, digests
from images.imaging.catalog import CATALOG, Kind


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "part"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "a.py").write_text("a")
    return folder


def test_content_name_mode_and_facts_each_count(tmp_path: Path, source: Path) -> None:
    def tag(*facts: str) -> str:
        return digests.fingerprint(tmp_path, [source], facts)

    seen = [tag(), tag("x"), tag("x", "y"), tag("xy")]
    (source / "a.py").write_text("b")
    seen.append(tag())
    (source / "a.py").chmod(0o755)
    seen.append(tag())
    (source / "a.py").rename(source / "b.py")
    seen.append(tag())
    assert len(set(seen)) == len(seen)


def test_caches_do_not_count(tmp_path: Path, source: Path) -> None:
    before = digests.fingerprint(tmp_path, [source], [])
    (source / "__pycache__" / "a.pyc").write_bytes(b"\0")
    assert digests.fingerprint(tmp_path, [source], []) == before


def test_slimming_keeps_what_programs_import(tmp_path: Path) -> None:
    package = tmp_path / "package"
    for name in ("core.py", "core.c", "core.pyi", "tests/test_core.py", "data/schema.json"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("")
    (tmp_path / "tests").mkdir()
    context.slim(tmp_path)
    assert {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()} == {
        "package/core.py",
        "package/data/schema.json",
    }
    assert (tmp_path / "tests").is_dir()


@pytest.mark.parametrize("name", list(CATALOG))
def test_every_image_runs_as_a_number_and_has_no_default_user(name: str) -> None:
    lines = CATALOG[name].dockerfile.read_text().splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert len(users) == 1
    assert all(part.isdigit() and int(part) >= 1000 for part in users[0].split(":"))


@pytest.mark.parametrize("image", [i for i in CATALOG.values() if i.kind is Kind.COMPONENT], ids=lambda i: i.name)
def test_a_component_s_base_can_be_changed_and_defaults_to_the_public_one(image: object) -> None:
    from images.imaging.catalog import PUBLIC_BASE, Image

    assert isinstance(image, Image)
    assert image.dockerfile.read_text().splitlines()[1:3] == [f"ARG BASE={PUBLIC_BASE}", "FROM ${BASE}"]


def test_what_was_used_last_stays(tmp_path: Path) -> None:
    for age, name in enumerate(("new", "older", "oldest")):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))
    assert digests.least_used(tmp_path.iterdir(), 2) == [tmp_path / "oldest"]
    os.utime(tmp_path / "oldest", (2_000_000, 2_000_000))
    assert digests.least_used(tmp_path.iterdir(), 2) == [tmp_path / "older"], "use counts, not birth"
    assert digests.least_used(tmp_path.iterdir(), 3) == []


def test_two_checkouts_share_a_cache_by_content(tmp_path: Path) -> None:
    for checkout in ("one", "two"):
        (tmp_path / checkout / "part").mkdir(parents=True)
        (tmp_path / checkout / "part" / "a.py").write_text("a")

    def tag(checkout: str) -> str:
        return digests.fingerprint(tmp_path / checkout, [tmp_path / checkout / "part"], ["fact"])

    assert tag("one") == tag("two")
    (tmp_path / "two" / "part" / "a.py").write_text("b")
    assert tag("one") != tag("two")


def test_component_dockerfiles_differ_only_where_they_must() -> None:
    """A Dockerfile takes no argument in ENTRYPOINT, so there are five: one text but for account, program, console."""

    def common(name: str) -> list[str]:
        text = CATALOG[name].dockerfile.read_text().replace(f"guildhall_{name}", "guildhall_<name>")
        lines = [line for line in text.splitlines() if not line.startswith(("USER ", "COPY console"))]
        return [line for line in lines if name != "fetcher" or line in template]

    template: list[str] = []
    template = common("operator")
    assert template[-1] == 'ENTRYPOINT ["python3", "-m", "guildhall_<name>"]'
    for image in CATALOG.values():
        if image.kind is Kind.COMPONENT:
            assert common(image.name) == template, image.name
