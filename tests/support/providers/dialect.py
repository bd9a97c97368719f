"""What a model says, apart from how a provider words it; and the wordings, each in a module of its own."""

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from support.providers.server import Behave

Stop = Literal["end", "calls", "length", "refusal", "filter", "unsaid", "failed", "odd", "window"]
"""`unsaid`: it does not say that it stopped; `odd`: for a reason of its own; `window`: at the end of its context."""
Problem = Literal["overflow", "throttled", "overloaded", "broken", "key", "quota", "absent", "odd"]
STATUSES: dict[Problem, int] = {
    "overflow": 400, "throttled": 429, "overloaded": 503, "broken": 500, "key": 401, "quota": 429, "absent": 404,
    "odd": 400,
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    id: str
    arguments: str = '{"path":"a"}'
    name: str = "write_file"


@dataclass(frozen=True)
class Used:
    """Tokens as people count them: `prompt` is all of the prompt."""

    prompt: int = 100
    cached: int = 60
    output: int = 7


@dataclass(frozen=True)
class Say:
    """One reply of a model."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thought: str = ""
    signature: str = ""
    stop: Stop = "end"
    used: Used | None = field(default_factory=Used)

    @property
    def pieces(self) -> list[str]:
        """The text in two pieces."""
        half = len(self.text) // 2
        return [piece for piece in (self.text[:half], self.text[half:]) if piece]


class Dialect(Protocol):
    """One provider's wire format. `name` is the word before the colon, `path` what follows the base URL."""

    name: str
    model: str
    base: str
    path: str
    streams_path: str

    def streamed(self, say: Say, then: str = "close") -> Behave:
        """`then`: `close` after the provider's own end; `short`, `reset` or `hang` without it (see `server.sse`)."""
        ...

    def whole(self, say: Say) -> Behave: ...

    def problem(self, kind: Problem, words: str = "", **headers: str) -> Behave: ...

    def shown(self, body: Any) -> list[tuple[str, str]]:
        """What a request shows the model: (system | user | assistant | call | result | thought, text), in order."""
        ...
