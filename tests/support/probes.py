"""Ways to find out whether an address answers, by what an image may have: python, bash, or a busybox.

Each probe is one command that exits with 0 only when an answer came back.
"""

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass

SECONDS = 2


@dataclass(frozen=True)
class Target:
    """An address that answers whoever may reach it. `kind`: tcp, dns, udp or icmp."""

    name: str
    kind: str
    host: str
    port: int = 0


PYTHON = r"""
import json, socket, sys
kind, host, port, seconds = json.loads(sys.argv[1])
family = socket.AF_INET6 if ":" in host else socket.AF_INET
def asked(made, data):
    made.settimeout(seconds)
    made.sendto(data, (host, port))
    return made.recvfrom(512)[0]
if kind == "icmp":
    echo, raw = bytes.fromhex("0800f7fd00010001"), True
    try:
        made = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    except PermissionError:
        made, raw = socket.socket(family, socket.SOCK_DGRAM, socket.IPPROTO_ICMP), False
    answer = asked(made, echo)
    assert answer[(answer[0] & 15) * 4 if raw else 0] == 0, "an echo reply, not a refusal"
elif kind in ("dns", "udp"):
    question = "12340100000100000000000003777777076578616d706c6503636f6d0000010001"
    asked(socket.socket(family, socket.SOCK_DGRAM), bytes.fromhex(question))
else:
    socket.create_connection((host, port), seconds).close()
"""
QUESTION = r"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07example\x03com\x00\x00\x01\x00\x01"


def by_python(target: Target) -> list[str] | None:
    return ["python3", "-c", PYTHON, json.dumps([target.kind, target.host, target.port, SECONDS])]


def by_bash(target: Target) -> list[str] | None:
    """`/dev/tcp` and `/dev/udp` of bash; ICMP it has none."""
    place = f"{target.host}/{target.port}"
    match target.kind:
        case "icmp":
            return None
        case "dns" | "udp":
            asked = f"exec 3<>/dev/udp/{place} && printf '{QUESTION}' >&3 && read -r -t {SECONDS} -N 2 -u 3 answer"
            return ["timeout", f"{SECONDS + 1}", "bash", "-c", asked]
    return ["timeout", f"{SECONDS}", "bash", "-c", f": <>/dev/tcp/{place}"]


def by_busybox(target: Target) -> list[str] | None:
    """nc for TCP, nslookup for DNS, ping for ICMP; other UDP it has none, and its static wget looks up even numbers."""
    match target.kind:
        case "dns":
            return ["timeout", f"{SECONDS + 1}", "nslookup", "kubernetes.default.svc.cluster.local", target.host]
        case "icmp":
            return ["ping", "-c", "1", "-W", f"{SECONDS}", target.host]
        case "udp":
            return None
    return ["timeout", f"{SECONDS + 1}", "nc", "-w", f"{SECONDS}", target.host, f"{target.port}"]


Probe = Callable[[Target], list[str] | None]


def script(probe: Probe, targets: list[Target]) -> str:
    """A shell script that probes the targets side by side and prints the names of those that answer, a line each."""
    asked = [(target.name, probe(target)) for target in targets]
    lines = [f"({shlex.join(words)}) </dev/null >/dev/null 2>&1 && echo {name} &" for name, words in asked if words]
    return "\n".join([*lines, "wait"])


def tried(probe: Probe, targets: list[Target]) -> set[str]:
    """The names of those that the tool has a way to."""
    return {target.name for target in targets if probe(target) is not None}
