"""What the gateway's modules promise of themselves: whoever says "pure" is held to it by `.importlinter`."""

import configparser
import re
from pathlib import Path

import guildhall_gateway

ROOT = Path(__file__).resolve().parents[3]
SAYS_SO = re.compile(r"\b[Pp]ure\b(?! but)")


def test_every_module_that_calls_itself_pure_is_held_to_it() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    held = set(config["importlinter:contract:gateway-pure"]["source_modules"].split())
    folder = Path(guildhall_gateway.__file__).parent
    said = {path.relative_to(folder).with_suffix("") for path in folder.rglob("*.py") if says_so(path)}
    assert {".".join(("guildhall_gateway", *path.parts)) for path in said} <= held
    assert len(said) > 10, "control: they say so"


def says_so(module: Path) -> bool:
    """In the first paragraph of its docstring; a package speaks of its modules there."""
    first = module.read_text().split('"""')[1].split("\n\n")[0]
    return module.stem != "__init__" and SAYS_SO.search(first) is not None
