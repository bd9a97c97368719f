"""A real MCP server as a pod of the cluster, in the run namespace, with a token it insists on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.cluster import RESTRICTED, eventually
from support.installation import Installation

NAME, PORT, SECRET = "notes-mcp", 8000, "notes-token"
TOKEN = "canary-notes-5b21"
CALLS = "/tmp/calls"
SERVER = f"""
import json
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

notes = MCPServer("notes")

def note(*call):
    with open("{CALLS}", "a") as log:
        log.write(json.dumps(call) + "\\n")

@notes.tool(description="The text of a note.")
async def read_note(number: int) -> str:
    note("read_note", number)
    return f"note {{number}}"

@notes.tool(description="Publish a text for everybody.")
async def publish(text: str) -> str:
    note("publish", text)
    return f"published {{text}}"

app = notes.streamable_http_app(transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False))

async def guarded(scope, receive, send):
    if scope["type"] == "http" and (b"authorization", b"Bearer {TOKEN}") not in scope["headers"]:
        await send({{"type": "http.response.start", "status": 401, "headers": []}})
        await send({{"type": "http.response.body", "body": b""}})
    else:
        await app(scope, receive, send)

uvicorn.run(guarded, host="0.0.0.0", port={PORT}, log_level="warning")
"""


def origin(namespace: str) -> str:
    return f"http://{NAME}.{namespace}.svc:{PORT}"


def connection_values(namespace: str) -> dict[str, Any]:
    """Chart values: the one origin, the one Secret."""
    return {"allow": [origin(namespace)], "secrets": {namespace: [SECRET]}}


def connection(name: str, namespace: str, **spec: Any) -> dict[str, Any]:
    """A Connection whose `read_note` is declared a read; everything else keeps the default."""
    read = {"effect": "read", "allowedInPrivate": True, "allowedWithoutUserPresent": True}
    return {
        "apiVersion": "guildhall.dev/v1alpha1",
        "kind": "Connection",
        "metadata": {"name": name},
        "spec": {
            "url": f"{origin(namespace)}/mcp",
            "displayName": "tester@example.test",
            "auth": {"secretRef": {"name": SECRET}},
            "tools": {"read_note": read},
        }
        | spec,
    }


def _objects(here: Installation) -> list[dict[str, Any]]:
    labels = {"app": NAME}
    container = {
        "name": "notes", "image": here.images["gateway"], "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", SERVER], "securityContext": {**RESTRICTED, "runAsUser": 10004},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
    }  # fmt: skip
    spec = {
        "containers": [container], "volumes": [{"name": "tmp", "emptyDir": {}}],
        "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
    }  # fmt: skip
    service = {"selector": labels, "ports": [{"port": PORT, "targetPort": PORT}]}
    host = f"{NAME}.{here.namespace}.svc:{PORT}"
    return [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME, "labels": labels}, "spec": spec},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME}, "spec": service},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET},
            "stringData": {"host": host, "token": TOKEN},
        },
    ]


@contextmanager
def mcp_pod(here: Installation) -> Iterator[None]:
    """The server, ready, with its Secret; removed afterwards."""
    here.delete("pod", NAME)
    here.apply(*_objects(here))
    here.kubectl("-n", here.namespace, "wait", "--for=condition=Ready", f"pod/{NAME}", "--timeout=90s")
    try:
        yield
    finally:
        for kind, name in (("pod", NAME), ("service", NAME), ("secret", SECRET)):
            here.delete(kind, name)


def calls(here: Installation) -> list[str]:
    """What the server was asked to do, a line each."""
    done = here.cluster.execute(here.namespace, NAME, "sh", "-c", f"cat {CALLS} 2>/dev/null")
    return done.stdout.splitlines()


def connected(here: Installation, name: str) -> dict[str, Any]:
    """The Connection once it is ready."""

    def ready() -> bool:
        status = here.get("connection", name).get("status", {})
        return any(one["status"] == "True" for one in status.get("conditions", []))

    eventually(ready, 60)
    return here.get("connection", name)
