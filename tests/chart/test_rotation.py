"""A change of the CA, upgrade by upgrade, as helm renders it over what the cluster holds; each step tried by real TLS.

What must hold at every step: kubelets bring bundle and certificate to the pods in any order, so the certificate of a
step is believed under the bundle of the step before, and the one of the step before under the bundle of the step.
"""

import base64
import json
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from chart.test_tls import NAME, handshake
from guildhall_contracts.limits import BUDGET_SECONDS_MAX, DEADLINE_GRACE_SECONDS, LINGER_MAX_SECONDS
from support.chart import CONTROL, ROOT, find, render
from support.lookups import Held, api_server

SIGNS, UNTIL = "guildhall.dev/signs-from", "guildhall.dev/former-until"
GOLDEN = ROOT / "tests" / "golden" / "operator"
LONGEST_RUN = timedelta(seconds=BUDGET_SECONDS_MAX + DEADLINE_GRACE_SECONDS + LINGER_MAX_SECONDS)
REFRESH = timedelta(seconds=60 + 60 + 300)  # a kubelet's pause between looks, its spread, a large cluster's cache


class Release:
    """A cluster with one release in it; `upgrade` checks what must hold."""

    def __init__(self, url: str, held: Held, folder: Path) -> None:
        self.words = ("--dry-run=server", "--kube-apiserver", url, "--kube-token", "t")
        self.held = held
        self.folder = folder
        self.pairs: list[tuple[str, str]] = []
        self.bundles: list[str] = []

    def upgrade(self, values: dict[str, Any] | None = None) -> None:
        objects = render(values, *self.words)
        self.held.apply(objects)
        self.bundles.append(find(objects, "ConfigMap", "guildhall-gateway-ca", CONTROL)["data"]["ca.crt"])
        certificate, key = (self.data("guildhall-gateway-tls", name) for name in ("tls.crt", "tls.key"))
        self.pairs.append((certificate, key))
        for pair in self.pairs[-2:]:
            for bundle in self.bundles[-2:]:
                assert self.believed(pair, bundle)

    def data(self, name: str, key: str) -> str:
        return base64.b64decode(self.held.get("Secret", CONTROL, name)["data"][key]).decode()

    def believed(self, pair: tuple[str, str], bundle: str) -> bool:
        for name, text in zip(("crt", "key"), pair, strict=True):
            (self.folder / name).write_text(text)
        try:
            handshake(self.folder / "crt", self.folder / "key", bundle, NAME)
        except ssl.SSLCertVerificationError:
            return False
        return True

    def notes(self) -> dict[str, str]:
        found: dict[str, str] = self.held.get("Secret", CONTROL, "guildhall-ca")["metadata"]["annotations"]
        return found

    def renew(self) -> None:
        """The first act of a person who wants another CA."""
        self.held.delete("Secret", CONTROL, "guildhall-ca")

    def later(self, note: str) -> None:
        """The time of a note has come."""
        assert _time(self.notes()[note]) > datetime.now(UTC)
        self.notes()[note] = f"{datetime.now(UTC) - timedelta(seconds=1):%Y-%m-%dT%H:%M:%SZ}"

    def cas(self) -> int:
        return self.bundles[-1].count("BEGIN CERTIFICATE")


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


@pytest.fixture
def release(tmp_path: Path) -> Iterator[Release]:
    held = Held()
    with api_server(held) as url:
        yield Release(url, held, tmp_path)


def test_an_upgrade_keeps_the_ca_and_signs_anew(release: Release) -> None:
    release.upgrade()
    release.upgrade({"isolation": {"require": False}})
    assert release.bundles[0] == release.bundles[1]
    assert release.pairs[0] != release.pairs[1]
    assert release.notes() == {SIGNS: "", UNTIL: ""}


def test_a_change_of_the_ca_reaches_every_client_before_it_is_needed(release: Release) -> None:
    release.upgrade()
    release.renew()
    begun = datetime.now(UTC)
    release.upgrade()
    assert release.pairs[1] == release.pairs[0], "published; the old certificate is served on"
    assert release.cas() == 2
    assert _time(release.notes()[SIGNS]) - begun >= REFRESH
    new_ca, notes = release.data("guildhall-ca", "tls.crt"), dict(release.notes())

    release.upgrade()
    assert release.pairs[2] == release.pairs[0], "too early: nothing changes"
    assert release.data("guildhall-ca", "tls.crt") == new_ca
    assert release.notes() == notes

    release.later(SIGNS)
    release.upgrade()
    assert release.believed(release.pairs[3], new_ca), "now it signs"
    assert not release.believed(release.pairs[3], release.bundles[0]), "control: it is another CA"
    assert release.cas() == 2
    assert _time(release.notes()[UNTIL]) - begun >= LONGEST_RUN

    ends = release.notes()[UNTIL]
    for _ in range(3):
        release.upgrade()
        assert release.cas() == 2, "no further upgrade ends the overlap early"
        assert release.notes()[UNTIL] == ends
        assert release.believed(release.pairs[0], release.bundles[-1])

    release.later(UNTIL)
    release.upgrade()
    assert release.bundles[-1].strip() == new_ca.strip()
    assert not release.believed(release.pairs[0], release.bundles[-1])
    assert release.notes()[UNTIL] == ""
    assert "former.crt" not in release.held.get("Secret", CONTROL, "guildhall-ca")["data"]


@pytest.mark.parametrize("signing", [False, True])
def test_a_ca_may_be_changed_again_in_the_middle_of_a_change(release: Release, signing: bool) -> None:
    release.upgrade()
    release.renew()
    release.upgrade()
    if signing:
        release.later(SIGNS)
        release.upgrade()
    release.renew()
    release.upgrade()
    assert release.cas() == 3, "all that may have signed, each once"
    release.later(SIGNS)
    release.upgrade()
    assert _time(release.notes()[UNTIL]) > datetime.now(UTC) + LONGEST_RUN
    release.later(UNTIL)
    release.upgrade()
    assert release.cas() == 1


def test_a_leaked_ca_is_dropped_as_soon_as_its_owner_says(release: Release) -> None:
    release.upgrade()
    release.renew()
    release.upgrade()
    release.later(SIGNS)
    release.notes()[UNTIL] = "2000-01-01T00:00:00Z"
    release.upgrade()
    assert release.cas() == 2, "not in the step that needs both"
    release.upgrade()
    assert release.cas() == 1
    assert not release.believed(release.pairs[0], release.bundles[-1])


def test_with_no_certificate_left_the_new_ca_signs_at_once(release: Release) -> None:
    release.upgrade()
    former = release.pairs.pop()
    for name in ("guildhall-ca", "guildhall-gateway-tls"):
        release.held.delete("Secret", CONTROL, name)
    release.bundles.clear()
    release.upgrade()
    assert release.believed(former, release.bundles[-1])
    assert _time(release.notes()[UNTIL]) > datetime.now(UTC) + LONGEST_RUN


def test_ones_own_cas_stay_beside_it_all_the_while(release: Release) -> None:
    mine = find(render(), "ConfigMap", "guildhall-gateway-ca", CONTROL)["data"]["ca.crt"].strip()
    values = {"tls": {"caBundle": mine}}
    release.upgrade(values)
    release.renew()
    for note in (None, SIGNS, UNTIL):
        if note:
            release.later(note)
        release.upgrade(values)
        assert mine in release.bundles[-1]
    assert release.cas() == 2


def test_a_release_of_before_this_rule_goes_on(release: Release) -> None:
    """Its Secret has no annotations, and its bundle may hold what an earlier change left."""
    release.upgrade()
    del release.held.get("Secret", CONTROL, "guildhall-ca")["metadata"]["annotations"]
    release.upgrade()
    assert release.bundles[0] == release.bundles[1]
    assert release.pairs[0] != release.pairs[1]


def test_kubelets_can_refresh_what_is_mounted() -> None:
    """A file mounted by subPath stays as it was when the container began."""
    objects = [*render(), *json.loads((GOLDEN / "plain.json").read_text())]
    pods = [item["spec"]["template"]["spec"] for item in objects if item["kind"] in ("Deployment", "Job")]
    seen = {"ca": 0, "tls": 0}
    for pod in pods:
        for mount in (mount for container in pod["containers"] for mount in container["volumeMounts"]):
            if mount["name"] in seen:
                seen[mount["name"]] += 1
                assert "subPath" not in mount
    assert seen == {"ca": 2, "tls": 1}, "the api's, the executor's, the gateway's"
