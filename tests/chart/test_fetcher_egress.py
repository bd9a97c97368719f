"""By the chart's own values fetch pods reach DNS and public hosts, and no address of a cluster, a node or a cloud."""

import ipaddress
from typing import Any

import pytest
from support.chart import RUNS, find, render

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# What no fetch pod has any business with: each leads to something that trusts whoever is near.
NOT_PUBLIC = {
    "this network": "0.0.0.0/8",
    "private, class A": "10.0.0.0/8",
    "private, class B": "172.16.0.0/12",
    "private, class C": "192.168.0.0/16",
    "carriers' shared (CGNAT)": "100.64.0.0/10",
    "loopback": "127.0.0.0/8",
    "link-local (metadata)": "169.254.0.0/16",
    "protocol assignments": "192.0.0.0/24",
    "documentation 1": "192.0.2.0/24",
    "documentation 2": "198.51.100.0/24",
    "documentation 3": "203.0.113.0/24",
    "benchmarks": "198.18.0.0/15",
    "multicast": "224.0.0.0/4",
    "reserved": "240.0.0.0/4",
    "broadcast": "255.255.255.255/32",
    "unspecified, IPv6": "::/128",
    "loopback, IPv6": "::1/128",
    "IPv4 in IPv6, of old": "::/96",
    "NAT64": "64:ff9b::/96",
    "local NAT64": "64:ff9b:1::/48",
    "6to4": "2002::/16",
    "Teredo": "2001::/32",
    "documentation, IPv6": "2001:db8::/32",
    "unique local (ULA)": "fc00::/7",
    "link-local, IPv6": "fe80::/10",
    "site-local": "fec0::/10",
    "multicast, IPv6": "ff00::/8",
}
METADATA = ["169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "192.0.0.192",
            "fd00:ec2::254", "fd20:ce::254", "fd00:42::42", "fe80::a9fe:a9fe"]  # fmt: skip
PUBLIC = ["140.82.121.3", "1.1.1.1", "100.63.255.255", "172.32.0.1", "193.0.0.1", "223.255.255.255",
          "2606:50c0:8000::153", "2a00:1450::1", "2003::1"]  # fmt: skip


def rules(**egress: Any) -> list[dict[str, Any]]:
    """The egress rules of fetch pods."""
    objects = render({"runNamespaces": [RUNS], **({"fetcher": {"egress": egress}} if egress else {})})
    found: list[dict[str, Any]] = find(objects, "NetworkPolicy", "guildhall-fetch", RUNS)["spec"]["egress"]
    return found


def blocks(listed: list[dict[str, Any]]) -> list[tuple[Network, list[Network]]]:
    """Every block of addresses the rules allow, and what they take out of it."""
    peers = [peer["ipBlock"] for rule in listed for peer in rule["to"] if "ipBlock" in peer]
    return [
        (ipaddress.ip_network(block["cidr"]), [ipaddress.ip_network(part) for part in block.get("except", [])])
        for block in peers
    ]


def within(network: Network, part: Network) -> bool:
    return network.version == part.version and network.subnet_of(part)  # type: ignore[arg-type]


def overlaps(allowed: list[tuple[Network, list[Network]]], network: Network) -> bool:
    """Whether an address of `network` is allowed. What is taken out is whole or not at all."""
    return any(
        cidr.version == network.version
        and cidr.overlaps(network)  # type: ignore[arg-type]
        and not any(within(network, part) for part in taken)
        for cidr, taken in allowed
    )


@pytest.fixture(scope="module", name="allowed")
def _allowed() -> list[tuple[Network, list[Network]]]:
    return blocks(rules())


@pytest.mark.parametrize("what", NOT_PUBLIC)
def test_no_address_that_is_not_public_is_reached(allowed: list[tuple[Network, list[Network]]], what: str) -> None:
    network = ipaddress.ip_network(NOT_PUBLIC[what])
    assert not overlaps(allowed, network)
    shorter = [(cidr, [part for part in taken if not within(network, part)]) for cidr, taken in allowed]
    assert overlaps(shorter, network), "control: with its range taken off the list it would be"


def test_no_clouds_metadata_is_reached_and_public_hosts_are(allowed: list[tuple[Network, list[Network]]]) -> None:
    assert [host for host in METADATA if overlaps(allowed, ipaddress.ip_network(host))] == []
    assert [host for host in PUBLIC if not overlaps(allowed, ipaddress.ip_network(host))] == []


def test_nothing_else_is_allowed_but_dns() -> None:
    dns, public = rules()
    (peer,) = dns["to"]
    assert set(peer) == {"namespaceSelector", "podSelector"}, "one pod of one namespace, not the namespace"
    assert {(port["protocol"], port["port"]) for port in dns["ports"]} == {("UDP", 53), ("TCP", 53)}
    assert {(port["protocol"], port["port"]) for port in public["ports"]} == {("TCP", 443), ("TCP", 22)}
    assert all(set(peer) == {"ipBlock"} for peer in public["to"])
    assert len(rules(public=False)) == 1, "control: DNS is what is left"
