"""The program git asks for a user name or password: reads the Secret, answers for its own host, says nothing else.

Guards against a question about another address. Stands alone: git starts it by path, with `-I` and no packages.
"""

import os
import re
import sys
from pathlib import Path

_QUESTION = re.compile(r"(Username|Password) for 'https://(?:[^@/']*@)?(\[[0-9A-Fa-f:.]+\]|[^/:'@]+)(?::([0-9]+))?/?'")


def answer(question: str, folder: Path, place: str) -> str | None:
    """What to print; None where the question is not about `place` (`host port`)."""
    found = _QUESTION.match(question)
    if found is None or f"{found[2].strip('[]').lower()} {found[3] or 443}" != place:
        return None
    path = folder / found[1].lower()
    return (
        path.read_text(encoding="utf-8").strip("\r\n")
        if path.is_file()
        else ("git" if found[1] == "Username" else None)
    )


def main() -> int:
    folder = os.environ.get("GUILDHALL_ASKPASS_FOLDER", "")
    place = os.environ.get("GUILDHALL_ASKPASS_PLACE", "")
    reply = answer(sys.argv[1] if len(sys.argv) > 1 else "", Path(folder), place) if folder else None
    if reply is None:
        return 1
    sys.stdout.write(f"{reply}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
