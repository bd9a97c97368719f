"""`python -m guildhall_contracts.generate [--check] [--root DIR]`: write what is derived, or compare it (exit 1)."""

import argparse
import difflib
import sys
from pathlib import Path

import yaml

from guildhall_contracts.generate.console import contract_js
from guildhall_contracts.generate.crds import KINDS, crd
from guildhall_contracts.generate.schemas import schema_files
from guildhall_contracts.generate.tables import contracts_md

_NOTICE = "# Generated from contracts/ (python -m guildhall_contracts.generate); do not edit.\n"
_KEEP = """\
  annotations:
    {{- if .Values.keep }}
    helm.sh/resource-policy: keep
    {{- end }}
    guildhall.dev/schema: v1alpha1
"""


def outputs() -> dict[str, str]:
    """Path below the project's root → text of every generated file."""
    files = {"docs/contracts.md": contracts_md(), "web/src/contract.js": contract_js()}
    files |= {f"contracts/schemas/{name}": text for name, text in schema_files().items()}
    for kind in KINDS:
        text = yaml.safe_dump(crd(kind), sort_keys=False, width=120, allow_unicode=False)
        files[f"crds/{kind.plural}.yaml"] = _NOTICE + text
        files[f"charts/guildhall-crds/templates/{kind.plural}.yaml"] = _NOTICE + _as_template(text)
    return files


def _as_template(text: str) -> str:
    """The manifest as a chart template: kept on uninstall unless told otherwise, nothing else rendered."""
    if "{{" in text:
        raise ValueError("a CRD contains '{{', which the chart would render; reword it")
    return text.replace("metadata:\n", "metadata:\n" + _KEEP, 1)


def _stale(root: Path, files: dict[str, str]) -> list[str]:
    """Files that were generated once and are no more."""
    folders = sorted({str(Path(name).parent) for name in files} - {"docs", "web/src"})
    present = [path for folder in folders for path in sorted((root / folder).glob("*.*")) if path.is_file()]
    return [
        str(path.relative_to(root))
        for path in present
        if str(path.relative_to(root)) not in files
        and (path.suffix == ".json" or path.read_text(encoding="utf-8").startswith(_NOTICE))
    ]


def check(root: Path, files: dict[str, str]) -> list[str]:
    """What differs from the committed files, as readable diffs; empty when nothing does."""
    found = [f"{name}: nothing generates this file any more; delete it\n" for name in _stale(root, files)]
    for name, text in files.items():
        path = root / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        found += difflib.unified_diff(old.splitlines(True), text.splitlines(True), f"{name} (committed)", name, n=1)
    return found


def write(root: Path, files: dict[str, str]) -> None:
    """Write every file; folders are made as needed."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def main() -> int:
    """0: written, or nothing differs; 1: the committed files are out of date."""
    parser = argparse.ArgumentParser(prog="python -m guildhall_contracts.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[3], help="the project's root")
    options = parser.parse_args()
    files = outputs()
    if not options.check:
        write(options.root, files)
        return 0
    found = check(options.root, files)
    sys.stdout.writelines(found)
    if found:
        sys.stdout.write("\ngenerated files are out of date; run: python -m guildhall_contracts.generate\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
