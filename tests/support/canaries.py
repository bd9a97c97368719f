"""Every secret of an installation, and every place where what it says, logs or stores can be searched for them."""

import base64
import itertools
import json
from collections.abc import Iterator
from typing import Any

from support.installation import ROOT, Answer, Installation

OPEN = {"host", "username", "tls.crt", "ca.crt"}  # keys of Secrets that hold what everybody may know
LEAST_CHARS = 8
COMPONENTS = ("operator", "gateway", "api")


def _pieces(text: str) -> Iterator[str]:
    """What of a secret would give it away: itself, as Base64, or any line of a key's body."""
    body = [line for line in text.splitlines() if len(line) > LEAST_CHARS and not line.startswith("-----")]
    yield from body[:-1:4] if text.startswith("-----BEGIN") else [text.strip()]
    yield base64.b64encode(text.encode()).decode().rstrip("=")


def needles(here: Installation) -> dict[str, str]:
    """Name to text: each value of each Secret of both namespaces, and the Kubernetes tokens of the components."""
    found: dict[str, str] = {}
    for namespace in (here.control, here.namespace):
        for secret in here.items("secrets", namespace):
            for key, value in (secret.get("data") or {}).items():
                text = base64.b64decode(value).decode("utf-8", "replace")
                if key in OPEN or len(text) < LEAST_CHARS or secret["type"].startswith("helm.sh/"):
                    continue
                name = f"{namespace}/{secret['metadata']['name']}/{key}"
                found |= {f"{name}#{at}": piece for at, piece in enumerate(_pieces(text))}
    for component in COMPONENTS:
        where = "/var/run/secrets/*/token /var/run/secrets/kubernetes.io/serviceaccount/token"
        script = f"for one in {where}; do test -f $one && cat $one && echo; done; true"
        said = here.control_kubectl("exec", f"deployment/guildhall-{component}", "--", "sh", "-c", script)
        found |= {f"token of {component}#{at}": token[-40:] for at, token in enumerate(said.split())}
    return found


def said_by_the_api(here: Installation, run: str, *, sealed: bool) -> Iterator[tuple[str, Answer]]:
    """The answer of every address the api serves by GET, asked about one Run; the stream of one that is sealed ends."""
    paths = json.loads((ROOT / "api" / "openapi.json").read_text())["paths"]
    for path in (path for path, methods in paths.items() if "get" in methods):
        if path.endswith("/stream") and not sealed:
            continue
        asked = path.replace("{run_id}", run).replace("{op}", "o1")
        yield asked, here.api(asked + (f"?run={run}" if path == "/api/run/flow" else ""))


def logged(here: Installation, namespace: str, selector: str = "") -> Iterator[tuple[str, str]]:
    """The log of every container of every pod there is."""
    for pod in here.items("pods", namespace, selector):
        name, spec = pod["metadata"]["name"], pod["spec"]
        for container in itertools.chain(spec.get("initContainers", []), spec["containers"]):
            where = ("-n", namespace, "logs", name, "-c", container["name"])
            yield f"log of {namespace}/{name}/{container['name']}", here.kubectl(*where, check=False)


def kept(here: Installation, kinds: tuple[str, ...], selector: str = "") -> Iterator[tuple[str, str]]:
    """Every object of those kinds in both namespaces, as anybody with a right to it reads it."""
    for namespace in (here.control, here.namespace):
        for kind in kinds:
            yield f"{kind} of {namespace}", here.kubectl("-n", namespace, "get", kind, "-l", selector, "-o", "json")


SEARCH = """
import json, os, sqlite3, sys, zlib

def unpacked(cell):
    try:
        return zlib.decompress(cell)
    except zlib.error:
        return cell

def cells(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for cell in (cell for name in tables for row in database.execute(f'SELECT * FROM "{name}"') for cell in row):
            yield unpacked(cell) if isinstance(cell, bytes) else str(cell).encode()

needles, folder = json.load(sys.stdin), sys.argv[1]
found, files = set(), 0
for path in (os.path.join(top, name) for top, _, names in os.walk(folder) for name in names):
    data = open(path, "rb").read()
    files += 1
    for piece in (data, *(cells(path) if data.startswith(b"SQLite format 3") else ())):
        found |= {(key, path) for key, text in needles.items() if text.encode() in piece}
print(json.dumps([files, sorted(found)]))
"""


def stored(here: Installation, component: str, wanted: dict[str, str]) -> tuple[int, list[list[str]]]:
    """Database, with what is packed in it, and blobs of gateway or api: how many files, and what is in which."""
    command = ("exec", "-i", f"deployment/guildhall-{component}", "--", "python3", "-c", SEARCH, "/var/lib/guildhall")
    said = here.kubectl("-n", here.control, *command, stdin=json.dumps(wanted))
    files, found = json.loads(said)
    return files, found


def found_in(text: str | dict[str, Any] | list[Any], wanted: dict[str, str]) -> list[str]:
    """The names of the needles that are in a text, or in a JSON value as text."""
    whole = text if isinstance(text, str) else json.dumps(text)
    return [name for name, needle in wanted.items() if needle in whole]
