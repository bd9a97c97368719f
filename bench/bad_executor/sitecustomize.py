"""Makes an executor bad on purpose, for a bench that must find it out: it reads and writes its whole history anew at
every step, as an agent does that keeps messages as objects."""

import json

from guildhall_executor import effects

_pieces = effects.CallModel.pieces


def _anew(self: effects.CallModel) -> list[bytes]:
    body = json.loads(b"".join(_pieces(self)))
    return [json.dumps(body).encode()]


effects.CallModel.pieces = _anew  # type: ignore[method-assign]
