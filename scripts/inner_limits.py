#!/usr/bin/env python3
"""Writes `docs/inner-limits.md`, or with `--check` compares it (exit 1): the bounds modules keep for themselves."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

COMPONENTS: Final = ("operator", "executor", "gateway", "api", "fetcher")
_BOUND: Final = re.compile(r"_?[A-Z][A-Z0-9_]*_MAX(_[A-Z0-9_]+)?")
_HEAD: Final = """# Bounds that one module keeps for itself

Generated from the Python sources by `make generate`; `make verify` compares. What is promised to people, or between
pieces, has its line in [limits.md](limits.md). These are how a module keeps its own house: no other piece knows them.
A line is the bound, its value as the source has it, and the module's own word about it, or else about itself.
"""


def inner_limits_md(root: Path) -> str:
    """The whole page, from the sources below `root`."""
    return _HEAD + "".join(_component(root, name) for name in COMPONENTS)


def _component(root: Path, name: str) -> str:
    rows = [row for path in sorted((root / name).rglob("*.py")) for row in _rows(root / name, path)]
    table = "| module | bound | value | |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    return f"\n## {name.capitalize()}\n\n{table}" if rows else ""


def _rows(folder: Path, path: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    about = (ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " ")
    for node in tree.body:
        if isinstance(node, ast.Assign) and (found := _bound(node.targets[0])):
            sys.exit(f"{path}:{node.lineno}: write `{found}: Final = …`, so that docs/inner-limits.md lists it")
        if isinstance(node, ast.AnnAssign) and (found := _bound(node.target)):
            value = ast.unparse(node.value) if node.value is not None else ""
            word = source.splitlines()[(node.end_lineno or node.lineno) - 1].partition("#")[2].strip()
            module = "/".join(path.relative_to(folder).parts[1:])
            yield f"| `{module}` | `{found.lstrip('_')}` | `{value}` | {_cell(word or about)} |"


def _bound(target: ast.expr) -> str:
    """The name of a bound; empty for anything else."""
    return target.id if isinstance(target, ast.Name) and _BOUND.fullmatch(target.id) else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(arguments: list[str]) -> int:
    root = Path(__file__).resolve().parent.parent
    page, path = inner_limits_md(root), root / "docs" / "inner-limits.md"
    if "--check" not in arguments:
        path.write_text(page, encoding="utf-8")
    elif page != path.read_text(encoding="utf-8"):
        print("docs/inner-limits.md is out of date; run: make generate")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
