"""What counts as told of the change set: only what was written."""

import hashlib
from typing import Any

from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.events import ChangesUpdated, Event
from guildhall_contracts.frames import AnyResult, DiffResult, ErrorReply
from guildhall_executor.code.session import CodeSession
from guildhall_executor.work import Work
from support.executor_run import QUICK

PATCH = b"diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n"


class Workspace:
    """Answers every look with the same patch."""

    async def ask(self, make: Any, result: Any, *, on_chunk: Any = None, **_: Any) -> AnyResult | ErrorReply:
        on_chunk(0, PATCH)
        return DiffResult(id=1, size=len(PATCH), sha256=hashlib.sha256(PATCH).hexdigest())


class Blobs:
    async def put_blob(self, sha256: str, data: bytes) -> ErrorInfo | None:
        return None


async def test_a_change_set_that_could_not_be_told_is_told_at_the_next_look() -> None:
    told: list[tuple[type[Event], dict[str, Any]]] = []
    full = [True]

    def tell(kind: type[Event], **fields: Any) -> None:
        if full.pop() if full else False:
            raise OSError(28, "No space left on device")
        told.append((kind, fields))

    work = Work(Blobs(), Workspace(), QUICK, tell, CodeSession(lambda _: None))  # type: ignore[arg-type]
    try:
        await work.look_at_changes(1.0)
    except OSError:
        assert work.changes is None
    assert told == []
    await work.look_at_changes(1.0)
    await work.look_at_changes(1.0)
    assert [(kind, fields["files_total"]) for kind, fields in told] == [(ChangesUpdated, 1)], "once, and no more"
