"""A model provider that is careless with the key it is given: it refuses every call and says the key in its refusal."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.cluster import RESTRICTED
from support.installation import Installation

NAME, PORT = "reflector", 8000
SERVER = f"""
import http.server, json
class Refuses(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        said = self.headers.get("Authorization", "nothing")
        print("asked with", said, flush=True)
        body = json.dumps({{"error": {{"message": f"no such key: {{said}}", "code": said, "type": said}}}}).encode()
        self.send_response(401, f"not with {{said}}")
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Refused", said)
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(("", {PORT}), Refuses).serve_forever()
"""


@contextmanager
def reflector(here: Installation, namespace: str) -> Iterator[str]:
    """The provider in a namespace of its own, ready; yields its base URL."""
    labels = {"app": NAME}
    container = {
        "name": NAME, "image": here.images["sandbox-python"], "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", SERVER], "securityContext": RESTRICTED,
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
    }  # fmt: skip
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False}
    service = {"selector": labels, "ports": [{"port": PORT}]}
    objects: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME, "labels": labels}, "spec": spec},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME}, "spec": service},
    ]
    here.kubectl("create", "namespace", namespace)
    try:
        here.apply(*objects, namespace=namespace)
        here.kubectl("-n", namespace, "wait", "--for=condition=Ready", f"pod/{NAME}", "--timeout=90s")
        yield f"http://{NAME}.{namespace}.svc:{PORT}/v1"
    finally:
        here.kubectl("delete", "namespace", namespace, "--wait=false")


def asked_with(here: Installation, namespace: str) -> str:
    """What the provider saw."""
    return here.kubectl("-n", namespace, "logs", NAME)
