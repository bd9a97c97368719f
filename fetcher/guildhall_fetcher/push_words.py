"""What git's last words mean when it pushes, for the person who wrote the Run. Pure.

Guards against text of a server in a status: only sentences of our own go there.
"""

import re
from typing import Final

from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.words import Explain

_RULES: Final[tuple[tuple[str, str], ...]] = (
    (r"stale info", "the branch was made by somebody else meanwhile"),
    (r"\[remote rejected\].*hook declined", "the server's own rules (a hook) refuse the branch"),
    (r"\[remote rejected\].*shallow", "the server takes nothing from a shallow repository (receive.shallowUpdate)"),
    (r"\[remote rejected\].*(update ref|lock|conflict|exists|refname)",
     "the server cannot make the branch; one called 'guildhall' may be in its way"),
    (r"\[(remote )?rejected\]", "the server's own rules refuse the branch; protected branch names are the usual cause"),
)  # fmt: skip


def explain_push(otherwise: Explain, *, secret: bool) -> Explain:
    """The failure behind an exit code of `git push`; what it shares with fetching is told by `otherwise`."""

    def explain(errors: str, code: int) -> FetchFailed:
        own = "\n".join(line for line in errors.splitlines() if not line.startswith("remote:")).lower()
        for pattern, text in _RULES:
            if re.search(pattern, own):
                return FetchFailed("refused", text)
        failed = otherwise(errors, code)
        if failed.outcome != "denied":
            return failed
        if secret:
            return FetchFailed("denied", "the server does not let the Secret's credentials push; name one that may")
        what = "the server lets nobody push without credentials; name a Secret in publish.secretRef"
        return FetchFailed("denied", what)

    return explain
