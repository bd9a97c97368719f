"""Repositories to fetch: ordinary ones by git itself, hostile ones object by object, since no git would make them."""

import hashlib
import os
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

ENV = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C",
    **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
       for what, value in (("NAME", "T"), ("EMAIL", "t@example.test"), ("DATE", "2026-01-01T00:00:00Z"))},
}  # fmt: skip
Entry = tuple[str, bytes, str]  # mode, name, id


@dataclass(frozen=True)
class Repository:
    """A bare repository below a server's root."""

    path: Path

    def git(self, *words: str, stdin: bytes = b"") -> str:
        done = subprocess.run(
            ["git", "-C", str(self.path), *words], env=ENV, input=stdin, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def put(self, kind: str, content: bytes) -> str:
        """Writes an object as it is, sound or not; its id."""
        whole = f"{kind} {len(content)}\0".encode() + content
        name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        path = self.path / "objects" / name[:2] / name[2:]
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            path.write_bytes(zlib.compress(whole, 9))
        return name

    def blob(self, content: bytes) -> str:
        return self.put("blob", content)

    def tree(self, *entries: Entry) -> str:
        return self.put(
            "tree", b"".join(f"{mode} ".encode() + name + b"\0" + bytes.fromhex(i) for mode, name, i in entries)
        )

    def commit(self, tree: str, ref: str = "refs/heads/main", parent: str = "", message: str = "one") -> str:
        """A commit of a tree, and the ref that names it."""
        who = "T <t@example.test> 1767225600 +0000"
        above = f"parent {parent}\n" if parent else ""
        name = self.put("commit", f"tree {tree}\n{above}author {who}\ncommitter {who}\n\n{message}\n".encode())
        target = self.path / ref
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(name + "\n")
        return name

    def files(self, files: dict[str, bytes], ref: str = "refs/heads/main", parent: str = "") -> str:
        """A commit of plain files in one folder each level, by git's own plumbing."""
        lines = [f"100644 blob {self.blob(content)}\t{name}" for name, content in sorted(files.items())]
        index = self.path / "build-index"
        env = {**ENV, "GIT_INDEX_FILE": str(index)}
        for words, stdin in ((["update-index", "--add", "--index-info"], "\n".join(lines).encode() + b"\n"),):
            subprocess.run(["git", "-C", str(self.path), *words], env=env, input=stdin, check=True, capture_output=True)
        tree = subprocess.run(
            ["git", "-C", str(self.path), "write-tree"], env=env, check=True, capture_output=True, text=True
        ).stdout.strip()
        index.unlink()
        return self.commit(tree, ref, parent)

    def hold(self, hook: str) -> None:
        """From now on every push waits in `hook`, which makes the file `reached`, until the file `go` is there."""
        path = self.path / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n: >reached\nuntil test -e go; do sleep 0.1; done\n")
        path.chmod(0o755)


def repository(root: Path, name: str) -> Repository:
    """A new, empty, bare repository `root/name`."""
    path = root / name
    path.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(path)], env=ENV, check=True)
    return Repository(path)


def ordinary(root: Path, name: str = "good.git") -> Repository:
    """Two commits on main, a branch, a light and an annotated tag; both files are small."""
    made = repository(root, name)
    first = made.files({"README.md": b"one\n", "src/app.py": b"print(1)\n"})
    second = made.files({"README.md": b"two\n", "src/app.py": b"print(2)\n"}, parent=first)
    made.files({"README.md": b"side\n"}, ref="refs/heads/feature/side", parent=second)
    (made.path / "refs/tags/v1").write_text(first + "\n")
    made.git("tag", "-a", "-m", "annotated", "v2", second)
    return made


def certificate(folder: Path, *names: str) -> tuple[Path, Path, Path]:
    """A CA's certificate, and a server's certificate and key it signed for `names` (`DNS:…`, `IP:…`)."""
    ca, cert, key = folder / "ca.crt", folder / "tls.crt", folder / "tls.key"
    base = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-noenc",
        "-days",
        "30",
    ]
    _openssl([*base, "-keyout", folder / "ca.key", "-out", ca, "-subj", "/CN=test-ca",
              "-addext", "keyUsage=critical,keyCertSign,cRLSign"])  # fmt: skip
    _openssl([*base, "-keyout", key, "-out", cert, "-subj", "/CN=git", "-addext", f"subjectAltName={','.join(names)}",
              "-addext", "basicConstraints=critical,CA:FALSE", "-CA", ca, "-CAkey", folder / "ca.key"])  # fmt: skip
    return ca, cert, key


def _openssl(words: list[str | Path]) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
