"""Only our chains are taken away; another program's rules survive, jumps to ours do not."""

from __future__ import annotations

from collections.abc import Callable

from cluster.embedded import network

SAVED = r"""*nat
:PREROUTING ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
:DOCKER - [0:0]
:CNI-aaaa - [0:0]
:CNI-bbbb - [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-ROUTER-FORWARD - [0:0]
:KUBE-POD-FW-ABC - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A POSTROUTING -s 10.244.0.2/32 -m comment --comment "name: \"guildhall\" id: \"x\"" -j CNI-aaaa
-A POSTROUTING -s 10.88.0.2/32 -m comment --comment "name: \"podman\" id: \"y\"" -j CNI-bbbb
-A CNI-aaaa -d 10.244.0.0/24 -m comment --comment "name: \"guildhall\" id: \"x\"" -j ACCEPT
-A KUBE-ROUTER-FORWARD -m comment --comment "KUBE-SERVICES in a comment" -j KUBE-POD-FW-ABC
COMMIT
"""


def _lines(pattern: Callable[[str], bool]) -> list[str]:
    return network.removal(SAVED, "nat", pattern).splitlines()


def test_the_node_s_chains_and_the_jumps_to_them_go() -> None:
    lines = _lines(lambda name: name.startswith("KUBE-"))
    assert lines[0] == "*nat"
    assert lines[-1] == "COMMIT"
    assert '-D PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES' in lines
    assert {line for line in lines if line.startswith("-X")} == {
        "-X KUBE-SERVICES",
        "-X KUBE-ROUTER-FORWARD",
        "-X KUBE-POD-FW-ABC",
    }
    assert not any("DOCKER" in line or "CNI" in line for line in lines)


def test_a_chain_is_emptied_before_it_is_deleted() -> None:
    lines = _lines(lambda name: name.startswith("KUBE-"))
    for name in ("KUBE-SERVICES", "KUBE-ROUTER-FORWARD", "KUBE-POD-FW-ABC"):
        assert lines.index(f":{name} - [0:0]") < lines.index(f"-X {name}")


def test_the_enforcer_s_chains_are_told_from_the_proxy_s() -> None:
    ours = [name for name in ("KUBE-SERVICES", "KUBE-ROUTER-FORWARD", "KUBE-POD-FW-ABC", "KUBE-NWPLCY-X", "KUBE-SVC-Y")
            if network.ENFORCER_CHAINS.match(name)]  # fmt: skip
    assert ours == ["KUBE-ROUTER-FORWARD", "KUBE-POD-FW-ABC", "KUBE-NWPLCY-X"]


def test_only_our_network_s_plugin_chains_are_ours() -> None:
    assert network.cni_chains(SAVED) == {"CNI-aaaa"}


def test_nothing_of_ours_means_nothing_to_run() -> None:
    assert network.removal(SAVED, "nat", lambda _: False) == ""
    assert network.removal("", "nat", lambda _: True) == ""
