"""What git's and ssh's last words mean for the person who wrote the Run. Pure.

Guards against text of a server in a status: only sentences of our own go there, and of git's one bounded line without
what the Secret holds.
"""

import base64
import re
from collections.abc import Callable
from typing import Final

from guildhall_contracts.base import one_line
from guildhall_contracts.fetch import FetchOutcome, GitUrl
from guildhall_contracts.limits import FETCH_LINE_MAX_CHARS

from guildhall_fetcher.failure import FetchFailed

Explain = Callable[[str, int], FetchFailed]  # of git's last words and its exit code

BROKEN_PIPE: Final = 13  # SIGPIPE
_RULES: Final[tuple[tuple[str, FetchOutcome, str, bool], ...]] = (
    (r"no space left on device|disk quota exceeded", "too_large",
     "the workspace's volume is full; raise workspace.storage.size", False),
    (r"file too large|file size limit|died of signal 25", "too_large",
     "the history is larger than the workspace; raise workspace.storage.size or lower depth", False),
    (r"out of memory|cannot allocate memory|memory exhausted|mmap failed|malloc failed|died of signal 9", "too_large",
     "git needs more memory for this repository than the fetcher has (chart value fetcher.resources)", False),
    (r"fsck error|object [0-9a-f]+: \w+:|refusing to |invalid path |badtree|unable to parse tree", "hostile",
     "the repository holds an object git refuses to take", False),
    (r"returned error: 30[0-9]|update url base from redirection", "refused",
     "the server redirects, which is not followed; write the address it leads to (with .git at its end?)", False),
    (r"certificate|ssl_connect|gnutls_handshake|ssl connect error|handshake failure|self[- ]signed", "tls_failed",
     ("the server's certificate is not trusted here; a private CA goes into the Secret's key ca.crt "
     "or the chart value fetcher.caBundle"), False),
    (r"host key verification failed|remote host identification has changed", "tls_failed",
     "the server's ssh key is not the one in the Secret's known_hosts", False),
    ((r"returned error: 40[13]|authentication failed|could not read (username|password)|terminal prompts disabled"
     r"|invalid credentials|permission denied \(|load key|no such identity"), "denied", "{credentials}", False),
    ((r"returned error: 404|repository .{0,300}not found|not exported|not appear to be a git repository"
     r"|no such repository|access denied"
     r"|service not enabled"), "denied",
     "the server has no such repository, or not for these credentials", False),
    (r"couldn't find remote ref|not our ref|unadvertised object|no such remote ref|did not send all necessary objects",
     "ref_not_found", "the server does not give out that ref; name a branch or tag that contains the commit", False),
    (r"dumb http transport|does not support shallow", "refused",
     "the server speaks only git's dumb protocol, which cannot fetch a part; serve the repository by git http-backend",
     False),
    (r"transport '[a-z+]*' not allowed", "refused", "that protocol is not allowed here", False),
    (r"could not resolve (host|proxy)|name or service not known|temporary failure in name resolution", "host_not_found",
     "the host's name cannot be resolved from the fetcher", True),
    ((r"timed out|connection refused|network is unreachable|no route to host|failed to connect|couldn't connect"
     r"|could not connect"), "unreachable", "{silence}", True),
    (r"returned error: (429|5[0-9][0-9])", "server_failed", "the server answered with a fault of its own", True),
    ((r"early eof|hung up|disconnect|connection (was )?reset|too slow|rpc failed|broken pipe"
     r"|recv error|send failure|stream .*not closed"),
     "server_failed", "the connection broke off", True),
    (r"bad pack|bad object|inflate|corrupt|index-pack|protocol error|bad line length|pack signature", "server_failed",
     "what the server sent is not a sound pack", False),
)  # fmt: skip


def silence(url: GitUrl) -> str:
    """What to do where nothing answers."""
    return (
        f"nothing answers the fetcher at {url.host}:{url.port}; check the address, "
        "and that the chart value fetcher.egress lets the fetcher go there"
    )


def _credentials(*, secret: bool) -> str:
    if secret:
        return "the server refuses the Secret's credentials"
    return "the server has no such repository, or wants credentials; name a Secret in workspace.git.secretRef"


def redacted(text: str, hidden: tuple[bytes, ...]) -> str:
    """`text` without the Secret's values, as they are and as HTTP sends them."""
    plain = [value.decode("utf-8", "replace").strip() for value in hidden]
    forms = plain + [base64.b64encode(value.encode()).decode() for value in plain]
    for form in sorted(forms, key=len, reverse=True):  # the pair before the password that is its end
        if len(form) >= 4:
            text = text.replace(form, "[hidden]")
    return text


def last_line(errors: str) -> str:
    """git's own last complaint; what the server said is left out."""
    lines = [line for line in errors.splitlines() if line.startswith(("fatal:", "error:", "ssh:"))]
    return one_line(lines[-1], FETCH_LINE_MAX_CHARS) if lines else ""


def explain(errors: str, code: int, url: GitUrl, *, secret: bool, hidden: tuple[bytes, ...] = ()) -> FetchFailed:
    """The failure behind an exit code and what git wrote before it. A server's `remote:` lines decide nothing."""
    own = "\n".join(line for line in errors.splitlines() if not line.startswith("remote:")).lower()
    for pattern, outcome, text, transient in _RULES:
        found = re.search(pattern, own)
        if found is None:
            continue
        said = text.format(credentials=_credentials(secret=secret), silence=silence(url))
        fault = re.search(r"object [0-9a-f]+: (\w{1,40}):", redacted(errors, hidden)) if outcome == "hostile" else None
        return FetchFailed(outcome, f"{said} ({fault[1]})" if fault else said, transient=transient)
    if code == -BROKEN_PIPE:  # it wrote to a server that had closed already
        return FetchFailed("server_failed", "the connection broke off", transient=True)
    if code < 0:
        return FetchFailed("internal", f"git was killed by signal {-code}")
    return FetchFailed("server_failed", f"git ended with {code}: {redacted(last_line(errors), hidden) or 'no word'}")
