"""The gateway's certificate: valid for its service name under the published CA, and for no other."""

import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
from support.chart import CONTROL, find, render

NAME = f"guildhall-gateway.{CONTROL}.svc"


def _files(objects: list[dict[str, Any]], folder: Path) -> tuple[Path, Path, str]:
    secret = find(objects, "Secret", "guildhall-gateway-tls")["data"]
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(base64.b64decode(secret["tls.crt"]))
    key.write_bytes(base64.b64decode(secret["tls.key"]))
    bundle: str = find(objects, "ConfigMap", "guildhall-gateway-ca", CONTROL)["data"]["ca.crt"]
    return certificate, key, bundle


def handshake(certificate: Path, key: Path, bundle: str, name: str) -> None:
    """A whole TLS handshake in memory. Raises ssl.SSLError when the client does not believe the server."""
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate, key)
    client_context = ssl.create_default_context(cadata=bundle)
    client_context.verify_flags |= ssl.VERIFY_X509_STRICT  # the default of later Pythons
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    client = client_context.wrap_bio(to_client, to_server, server_hostname=name)
    open_ends = [client, server]
    for _ in range(10):
        for end in list(open_ends):
            try:
                end.do_handshake()
                open_ends.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert not open_ends


def test_the_certificate_is_believed_for_the_service_name_only(tmp_path: Path) -> None:
    certificate, key, bundle = _files(render(), tmp_path)
    handshake(certificate, key, bundle, NAME)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(certificate, key, bundle, "guildhall-gateway.elsewhere.svc")


def test_another_releases_ca_is_not_believed(tmp_path: Path) -> None:
    certificate, key, _ = _files(render(), tmp_path)
    stranger: str = find(render(), "ConfigMap", "guildhall-gateway-ca", CONTROL)["data"]["ca.crt"]
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(certificate, key, stranger, NAME)


def test_the_ca_key_is_in_one_secret_and_no_pod_mounts_it() -> None:
    objects = render()
    key = find(objects, "Secret", "guildhall-ca")["data"]["tls.key"]
    holders = [item["metadata"]["name"] for item in objects if key in str(item)]
    assert holders == ["guildhall-ca"]
    assert "guildhall-ca'" not in str([item for item in objects if item["kind"] == "Deployment"])


def test_every_namespace_gets_the_same_bundle() -> None:
    objects = render({"runNamespaces": ["team-a", "team-b"]})
    bundles = {
        item["metadata"]["namespace"]: item["data"]["ca.crt"]
        for item in objects
        if item["kind"] == "ConfigMap" and item["metadata"]["name"] == "guildhall-gateway-ca"
    }
    assert set(bundles) == {CONTROL, "team-a", "team-b"}
    assert len(set(bundles.values())) == 1


def test_a_certificate_of_ones_own(tmp_path: Path) -> None:
    mine: str = find(render(), "ConfigMap", "guildhall-gateway-ca", CONTROL)["data"]["ca.crt"]
    issuer = {"name": "internal", "kind": "ClusterIssuer", "group": "cert-manager.io"}
    objects = render({"tls": {"mode": "secret", "caBundle": mine, "certManagerIssuer": issuer}})
    assert not [item for item in objects if item["kind"] == "Secret"]
    assert find(objects, "ConfigMap", "guildhall-gateway-ca", CONTROL)["data"]["ca.crt"].strip() == mine.strip()
    certificate = find(objects, "Certificate", "guildhall-gateway")["spec"]
    assert certificate["secretName"] == "guildhall-gateway-tls"
    assert NAME in certificate["dnsNames"]
    assert certificate["issuerRef"] == issuer
