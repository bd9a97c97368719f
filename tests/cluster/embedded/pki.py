"""Certificates and keys of one cluster, made once and kept in its state."""

from __future__ import annotations

from pathlib import Path

from .layout import API_SERVICE_IP, HOST_IP, NODE, Layout
from .shell import run

DAYS = "3650"
API_NAMES = (
    f"IP:{HOST_IP},IP:127.0.0.1,IP:{API_SERVICE_IP},DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,"
    "DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
)
# file name, subject, extension
LEAVES = (
    ("apiserver", "/CN=kube-apiserver", f"subjectAltName={API_NAMES}"),
    ("kubelet", f"/CN={NODE}", f"subjectAltName=IP:{HOST_IP},IP:127.0.0.1,DNS:{NODE}"),
    ("admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth"),
    ("node", f"/O=system:nodes/CN=system:node:{NODE}", "extendedKeyUsage=clientAuth"),
    ("controllers", "/CN=system:kube-controller-manager", "extendedKeyUsage=clientAuth"),
    ("scheduler", "/CN=system:kube-scheduler", "extendedKeyUsage=clientAuth"),
    ("proxy", "/CN=system:kube-proxy", "extendedKeyUsage=clientAuth"),
)


def _certificate(folder: Path, name: str, subject: str, extension: str, signer: list[str | Path]) -> None:
    if (folder / f"{name}.crt").exists():
        return
    run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-noenc",
            "-keyout",
            folder / f"{name}.key",
            "-out",
            folder / f"{name}.crt",
            "-days",
            DAYS,
            "-subj",
            subject,
            "-addext",
            extension,
            *signer,
        ]
    )


def issue(layout: Layout) -> None:
    """Make whatever is not there yet: the authority, seven leaves, the service account key."""
    folder = layout.pki
    folder.chmod(0o700)
    _certificate(folder, "ca", "/CN=guildhall-cluster", "keyUsage=critical,keyCertSign,cRLSign", [])
    signer: list[str | Path] = ["-CA", folder / "ca.crt", "-CAkey", folder / "ca.key"]
    for name, subject, extension in LEAVES:
        leaf = [*signer, "-addext", "basicConstraints=critical,CA:FALSE"]
        _certificate(folder, name, subject, extension, leaf)
    if not (folder / "sa.pub").exists():
        run(["openssl", "genrsa", "-out", folder / "sa.key", "2048"])
        run(["openssl", "rsa", "-in", folder / "sa.key", "-pubout", "-out", folder / "sa.pub"])
