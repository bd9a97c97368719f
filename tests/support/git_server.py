"""A real git server for tests: `git daemon` and git's own http-backend behind TLS, from the standard library alone.

`python3 git_server.py ROOT --https PORT --cert FILE --key FILE --shut PORT --git PORT`. Repositories are folders below
ROOT; those below ROOT/private want the user name and password in ROOT/private/.login, and to be pushed to those in
ROOT/private/.push where there are any. Others are pushed to where their own configuration says so. Every request line
and its Authorization is kept in ROOT/requests.log, so that a test sees what reached the server. What is asked below
/redirect/ is answered by 302 to the address in ROOT/redirect.to.
"""

import argparse
import base64
import http.server
import os
import ssl
import subprocess
import threading
from pathlib import Path
from typing import Any

BACKEND = "/usr/lib/git-core/git-http-backend"


class Handler(http.server.BaseHTTPRequestHandler):
    """One request: refused, redirected, or given to http-backend as a CGI program."""

    protocol_version = "HTTP/1.0"
    root: Path

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, *arguments: Any) -> None:
        with (self.root / "requests.log").open("a") as log:
            log.write(f"{self.command} {self.path} {self.headers.get('Authorization', '-')}\n")

    def _refusal(self) -> int:
        """401 without a login of `.login` or `.push`, 403 for a push without that of `.push` where there is one."""
        if not self.path.startswith("/private/"):
            return 0
        given = self.headers.get("Authorization", "")
        files = [self.root / "private" / name for name in (".login", ".push")]
        logins = {
            path.name: f"Basic {base64.b64encode(path.read_bytes().strip()).decode()}"
            for path in files
            if path.exists()
        }
        if given not in logins.values():
            return 401
        pushes = "git-receive-pack" in self.path
        return 403 if pushes and given != logins.get(".push", given) else 0

    def _answer(self, code: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(code)
        headers["Content_Length"] = str(len(body))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def _serve(self) -> None:
        path, _, query = self.path.partition("?")
        if path.startswith("/redirect/"):
            self._answer(302, Location=(self.root / "redirect.to").read_text().strip() + self.path[9:])
        elif path.startswith("/broken/"):
            self._answer(503)
        elif refusal := self._refusal():
            self._answer(refusal, WWW_Authenticate='Basic realm="git"')
        else:
            self._backend(path, query)

    def _backend(self, path: str, query: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else self._chunks()
        env = {
            **os.environ, "GIT_PROJECT_ROOT": str(self.root), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
            "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)), "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "REMOTE_ADDR": "127.0.0.1",
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
            **({"REMOTE_USER": "robot"} if path.startswith("/private/") else {}),
        }  # fmt: skip
        done = subprocess.run([BACKEND], env=env, input=body, capture_output=True, timeout=120, check=False)
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n") if b": " in line)
        named = {key.decode().replace("-", "_"): value.decode() for key, value in fields.items() if key != b"Status"}
        self._answer(int(fields.get(b"Status", b"200 OK").split()[0]), rest, **named)

    def _chunks(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return b""
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        return body


def https_server(root: Path, port: int, cert: Path, key: Path, host: str = "") -> http.server.ThreadingHTTPServer:
    """The HTTPS half, listening; `port` 0 takes a free one."""
    handler = type("Bound", (Handler,), {"root": root})
    server = http.server.ThreadingHTTPServer((host, port), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


def daemon_command(root: Path, port: int) -> list[str]:
    """The words that start the git:// half."""
    return ["git", "-c", "safe.directory=*", "daemon", "--reuseaddr", "--export-all", f"--base-path={root}",
            f"--port={port}", "--informative-errors", str(root)]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    for name, kind in (("https", int), ("shut", int), ("git", int), ("cert", Path), ("key", Path)):
        parser.add_argument(f"--{name}", type=kind)
    chosen = parser.parse_args()
    for port in (chosen.https, chosen.shut):
        server = https_server(chosen.root, port, chosen.cert, chosen.key)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {**os.environ, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    subprocess.run(daemon_command(chosen.root, chosen.git), env=env, check=True)


if __name__ == "__main__":
    main()
