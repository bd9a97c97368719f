"""What helm's `lookup` sees: a few objects behind an API server that can do nothing else."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Object = dict[str, Any]
_PLURALS = {"Secret": "secrets", "ConfigMap": "configmaps"}
_RESOURCES = [
    {"name": plural, "kind": kind, "singularName": kind.lower(), "namespaced": True, "verbs": ["get", "list"]}
    for kind, plural in _PLURALS.items()
]


class Held:
    """The objects of namespaces, by the address they are asked for at."""

    def __init__(self) -> None:
        self._objects: dict[str, Object] = {}

    def apply(self, objects: list[Object]) -> None:
        """Takes the Secrets and ConfigMaps in; others are not looked up."""
        for item in objects:
            if item["kind"] in _PLURALS:
                self._objects[self._path(item["kind"], item["metadata"]["namespace"], item["metadata"]["name"])] = item

    def get(self, kind: str, namespace: str, name: str) -> Object:
        return self._objects[self._path(kind, namespace, name)]

    def delete(self, kind: str, namespace: str, name: str) -> None:
        del self._objects[self._path(kind, namespace, name)]

    def answer(self, path: str) -> Object | None:
        if path == "/api/v1":
            return {"kind": "APIResourceList", "groupVersion": "v1", "resources": _RESOURCES}
        return self._objects.get(path)

    @staticmethod
    def _path(kind: str, namespace: str, name: str) -> str:
        return f"/api/v1/namespaces/{namespace}/{_PLURALS[kind]}/{name}"


@contextmanager
def api_server(held: Held) -> Iterator[str]:
    """Its URL; it reads, and knows no other address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = held.answer(self.path.partition("?")[0])
            missing = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
            body = json.dumps(found or missing).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
