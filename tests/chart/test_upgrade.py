"""Install, upgrade, change of CA and uninstall on a real cluster, by helm itself; the pods need not start for it."""

import base64
import json
import ssl
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.chart import CHART
from support.cluster import Cluster
from support.crds import install_crds

pytestmark = pytest.mark.cluster
SMALL = {"gateway": {"persistence": {"enabled": False}}, "api": {"persistence": {"enabled": False}}}


@dataclass
class Release:
    cluster: Cluster
    control: str
    runs: str

    def helm(self, *words: str, values: dict[str, Any] | None = None) -> str:
        """Output of helm; AssertionError with its words when it fails."""
        argv = [
            str(self.cluster.bin / "helm"),
            "--kubeconfig",
            str(self.cluster.kubeconfig),
            "-n",
            self.control,
            *words,
        ]
        text = json.dumps({"runNamespaces": [self.runs], "images": {"pullPolicy": "Never"}, **SMALL, **(values or {})})
        done = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def upgrade(self, values: dict[str, Any] | None = None) -> str:
        return self.helm("upgrade", "--install", "guildhall", str(CHART), "-f", "-", values=values)

    def secret(self, name: str, key: str) -> str:
        data: str = self.cluster.get("secret", name, "-n", self.control)["data"][key]
        return base64.b64decode(data).decode()

    def pair(self) -> tuple[str, str]:
        """The gateway's certificate and its key."""
        return self.secret("guildhall-gateway-tls", "tls.crt"), self.secret("guildhall-gateway-tls", "tls.key")

    def time_comes(self, note: str) -> None:
        """Puts a time that `guildhall-ca` names into the past."""
        found = self.cluster.get("secret", "guildhall-ca", "-n", self.control)["metadata"]["annotations"]
        assert found[f"guildhall.dev/{note}"] > f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        past = f"guildhall.dev/{note}=2026-01-01T00:00:00Z"
        self.cluster.kubectl("annotate", "--overwrite", "secret", "guildhall-ca", "-n", self.control, past)

    def bundle(self) -> str:
        found: str = self.cluster.get("configmap", "guildhall-gateway-ca", "-n", self.runs)["data"]["ca.crt"]
        return found


@pytest.fixture(scope="module")
def release(cluster: Cluster) -> Iterator[Release]:
    mark = uuid.uuid4().hex[:8]
    made = Release(cluster, f"upgrade-control-{mark}", f"upgrade-runs-{mark}")
    install_crds(cluster)
    cluster.kubectl("create", "namespace", made.control)
    try:
        yield made
    finally:
        if "guildhall" in made.helm("list", "-q"):
            made.helm("uninstall", "guildhall")
        cluster.attempt("delete", "namespace", made.control, made.runs, "--wait=false", "--ignore-not-found")


def _signed_by(certificate: str, key: str, bundle: str, folder: Path) -> bool:
    """Whether a client that trusts `bundle` believes the server (names are tested with the template)."""
    (folder / "crt").write_text(certificate)
    (folder / "key").write_text(key)
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(folder / "crt", folder / "key")
    client_context = ssl.create_default_context(cadata=bundle)
    client_context.check_hostname = False
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client_context.wrap_bio(to_client, to_server),
        server_context.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(6):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError:
                return False
    return True


def test_the_life_of_a_release(release: Release, tmp_path: Path) -> None:
    assert f"Runs may be created in: {release.runs}" in release.upgrade()
    first_ca, first = release.secret("guildhall-ca", "tls.crt"), release.secret("guildhall-gateway-tls", "tls.crt")
    first_key, first_bundle = release.secret("guildhall-gateway-tls", "tls.key"), release.bundle()
    assert _signed_by(first, first_key, first_bundle, tmp_path)

    release.upgrade({"isolation": {"require": False}})
    assert release.secret("guildhall-ca", "tls.crt") == first_ca, "an upgrade keeps the CA"
    renewed = release.secret("guildhall-gateway-tls", "tls.crt")
    assert renewed != first, "and signs anew"
    assert _signed_by(renewed, release.secret("guildhall-gateway-tls", "tls.key"), first_bundle, tmp_path)

    release.helm("uninstall", "guildhall")
    assert release.cluster.get("namespace", release.runs)["status"]["phase"] == "Active", "runs outlive the release"
    left = release.cluster.kubectl("get", "validatingadmissionpolicies,clusterroles", "-o", "name")
    assert release.control not in left

    release.upgrade()
    assert release.bundle(), "installing again finds the namespace"


def test_a_change_of_the_ca_breaks_no_client(release: Release, tmp_path: Path) -> None:
    """What a running client has mounted is the bundle of the step before: that one believes each step's certificate."""
    release.upgrade()
    first, before = release.pair(), release.bundle()
    release.cluster.kubectl("delete", "secret", "guildhall-ca", "-n", release.control)
    said = release.upgrade()
    assert "signs from" in said, "the notes say that another upgrade is needed, and when"
    assert release.pair() == first, "the new CA is published before it signs"
    both = release.bundle()
    assert both.count("BEGIN CERTIFICATE") == 2
    release.upgrade()
    assert release.pair() == first, "and an upgrade that comes too early changes nothing"

    release.time_comes("signs-from")
    release.upgrade()
    changed = release.pair()
    assert changed != first
    assert _signed_by(*changed, both, tmp_path), "a client that runs knows the new CA by now"
    assert _signed_by(*first, release.bundle(), tmp_path), "and the old certificate while it is still served"
    assert not _signed_by(*changed, before, tmp_path), "control: it is another CA"

    release.upgrade()
    assert _signed_by(*first, release.bundle(), tmp_path), "no further upgrade ends the overlap early"
    assert release.secret("guildhall-ca", "former.crt")
    release.time_comes("former-until")
    release.upgrade()
    assert not _signed_by(*first, release.bundle(), tmp_path)
    assert _signed_by(*release.pair(), release.bundle(), tmp_path)
    assert "former.crt" not in release.cluster.get("secret", "guildhall-ca", "-n", release.control)["data"]


def test_pods_of_the_release_pass_pod_security_restricted(release: Release) -> None:
    release.upgrade()
    listed = release.cluster.get("deployments", "-n", release.control)["items"]
    assert len(listed) == 3
    for item in listed:
        template = item["spec"]["template"]
        pod = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": {**template["metadata"], "name": "probe"}}
        pod["spec"] |= {"serviceAccountName": "default"}
        words = ["create", "-n", release.runs, "--dry-run=server", "-f", "-"]
        done = release.cluster.attempt(*words, stdin=json.dumps(pod))
        assert done.returncode == 0, done.stderr
        pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
        done = release.cluster.attempt(*words, stdin=json.dumps(pod))
        assert "PodSecurity" in done.stderr, "control: the level is enforced there"
