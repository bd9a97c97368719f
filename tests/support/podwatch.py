"""Every pod there ever was in a namespace while one looked: a pod that came and went is not in any later list."""

import contextlib
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from support.installation import Installation

_ROW = r'{.metadata.labels.guildhall\.dev/run} {.metadata.uid} {.spec.containers[*].name}{"\n"}'


@contextlib.contextmanager
def watched_pods(here: Installation) -> Iterator[Callable[[str], set[str]]]:
    """Watches while the context is open. Its value gives the uids of the pods with an executor of a Run."""
    with tempfile.NamedTemporaryFile() as rows:
        argv = ["kubectl", "-n", here.namespace, "get", "pods", "--watch", "-o", f"jsonpath={_ROW}"]
        watch = subprocess.Popen(argv, env=here.environment, stdout=rows, stderr=subprocess.DEVNULL)
        try:

            def pods_of(uid: str) -> set[str]:
                assert watch.poll() is None, "the watch of pods ended; it may have missed some"
                found = [line.split() for line in Path(rows.name).read_text().splitlines()]
                return {row[1] for row in found if row[0] == uid and "executor" in row[2:]}

            yield pods_of
        finally:
            watch.kill()
            watch.wait()
