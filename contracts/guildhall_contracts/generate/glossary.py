"""The meanings of fields that say the same wherever they occur, from `glossary.txt`."""

from importlib.resources import files
from typing import Final


def _read() -> dict[str, str]:
    text = files(__package__).joinpath("glossary.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    pairs = [(key.strip(), meaning.strip()) for key, _, meaning in (line.partition("|") for line in lines)]
    keys = [key for key, _ in pairs]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise ValueError(f"glossary.txt explains twice: {', '.join(sorted(twice))}")
    return dict(pairs)


GLOSSARY: Final = _read()
