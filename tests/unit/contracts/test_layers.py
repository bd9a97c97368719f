"""What contracts promise of themselves: `.importlinter` holds every module of theirs to it, none is forgotten."""

import configparser
from pathlib import Path

import guildhall_contracts

ROOT = Path(__file__).resolve().parents[3]


def test_every_module_is_held_to_be_pure() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    listed = set(config["importlinter:contract:contracts-pure"]["source_modules"].split())
    folder = Path(guildhall_contracts.__file__).parent
    there = {f"guildhall_contracts.{path.stem}" for path in folder.glob("*.py") if path.stem != "__init__"}
    assert listed == there
