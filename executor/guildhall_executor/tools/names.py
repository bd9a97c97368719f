r"""Names as the model was shown them, back into names on the disk: shown as `\xNN` or `\u{NNNN}` where odd."""

import base64
import re
from typing import Any, Final

from guildhall_contracts.frames import ErrorReply, StatRequest, StatResult

from guildhall_executor.tools.ask import Ask

_ESCAPE: Final = re.compile(rb"\\x([0-9a-f]{2})|\\u\{([0-9a-f]{4,5})\}")


async def wire_path(ask: Ask, path: str) -> dict[str, Any]:
    """The fields that name `path` in a request.

    A name with escapes is itself if there is such a file, and else the one it was shown for, if there is that.
    """
    literal = {"path": "" if path in (".", "./") else path}
    exact = unescaped(path)
    if exact is None or await _exists(ask, literal):
        return literal
    shown = {"path_b64": base64.b64encode(exact).decode()}
    return shown if await _exists(ask, shown) else literal


def unescaped(path: str) -> bytes | None:
    """The bytes behind the escapes of `path`; None when it has none."""
    raw = path.encode("utf-8", "surrogatepass")
    exact = _ESCAPE.sub(_meant, raw)
    return None if exact == raw else exact


def _meant(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 16)]) if escape[1] else chr(int(escape[2], 16)).encode("utf-8", "surrogatepass")


async def _exists(ask: Ask, fields: dict[str, Any]) -> bool:
    return not isinstance(await ask.ask(lambda id_: StatRequest(id=id_, **fields), StatResult), ErrorReply)
