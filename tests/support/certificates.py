"""A self-signed certificate for the time of a test, made by openssl."""

import subprocess
from pathlib import Path


def certificate(folder: Path, name: str = "localhost") -> tuple[Path, Path]:
    """`tls.crt` and `tls.key` in `folder`, for a day and for `name` alone."""
    cert, key = folder / "tls.crt", folder / "tls.key"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1"
    names = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-keyout", str(key), "-out", str(cert)]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    return cert, key
