"""A folder whose files change as those of a mounted ConfigMap or Secret do: all at once, by one renamed link."""

from pathlib import Path


class Mount:
    """`folder` as a kubelet fills it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0
        folder.mkdir(parents=True)

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def put(self, **files: bytes) -> None:
        """The next version; `tls_crt` is the file `tls.crt`."""
        self._count += 1
        version = self.folder / f"..version-{self._count}"
        version.mkdir()
        for key, data in files.items():
            name = key.replace("_", ".")
            (version / name).write_bytes(data)
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        (self.folder / "..next").symlink_to(version.name)
        (self.folder / "..next").rename(self.folder / "..data")

    def lose(self) -> None:
        """The link is gone: no file can be read."""
        (self.folder / "..data").unlink()
