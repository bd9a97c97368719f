"""Guards the machine's network: what the cluster adds to it has known names and is taken away again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from . import counters
from .layout import CNI_NETWORK, HOST_CIDR, NODE_LINK, POD_LINK
from .shell import attempt, run

TABLES = ("filter", "nat", "mangle", "raw")
FAMILIES = ("iptables", "ip6tables")
NODE_CHAINS = re.compile(r"^KUBE-")
ENFORCER_CHAINS = re.compile(r"^KUBE-(ROUTER|POD-FW|NWPLCY)-")
ENFORCER_SETS = re.compile(r"^(inet6:)?(KUBE-(SRC|DST)|kube-router)-")

# What the cluster or its components set; the values before are put back by `down`.
SYSCTLS = {
    "net/ipv4/ip_forward": "1",
    "net/bridge/bridge-nf-call-iptables": "1",
    "net/bridge/bridge-nf-call-ip6tables": None,
    "net/ipv4/conf/all/route_localnet": None,
    "net/ipv6/conf/all/forwarding": None,
    "net/netfilter/nf_conntrack_max": None,
    "net/netfilter/nf_conntrack_tcp_timeout_established": None,
    "net/netfilter/nf_conntrack_tcp_timeout_close_wait": None,
    "kernel/panic": None,
    "kernel/panic_on_oops": None,
    "kernel/keys/root_maxkeys": None,
    "kernel/keys/root_maxbytes": None,
    "vm/overcommit_memory": None,
    "vm/panic_on_oom": None,
}


def remember_sysctls(store: Path) -> None:
    """Write the present values to `store`, once."""
    if store.exists():
        return
    places = {name: Path("/proc/sys", name) for name in SYSCTLS}
    store.write_text(json.dumps({n: p.read_text().strip() for n, p in places.items() if p.exists()}))


def restore_sysctls(store: Path) -> None:
    if not store.exists():
        return
    for name, value in json.loads(store.read_text()).items():
        place = Path("/proc/sys", name)
        if place.exists() and place.read_text().strip() != value:
            place.write_text(value)


def raise_links() -> None:
    """A bridge with the node's address, so that pods reach the API server at an address that stays."""
    if not Path("/sys/class/net", NODE_LINK).exists():
        run(["ip", "link", "add", NODE_LINK, "type", "bridge"])
    run(["ip", "address", "replace", HOST_CIDR, "dev", NODE_LINK])
    run(["ip", "link", "set", NODE_LINK, "up"])
    for name, value in SYSCTLS.items():
        place = Path("/proc/sys", name)
        if value is not None and place.read_text().strip() != value:
            place.write_text(value)


def drop_links() -> None:
    for link in (POD_LINK, NODE_LINK):
        ports = Path("/sys/class/net", link, "brif")
        for port in sorted(p.name for p in ports.iterdir()) if ports.exists() else []:
            attempt(["ip", "link", "delete", port])
        if Path("/sys/class/net", link).exists():
            run(["ip", "link", "delete", link])


def cni_chains(saved: str) -> set[str]:
    """Chains of the CNI plugins that belong to our network, found by the network's name in comments."""
    mark = re.compile(rf'name: \\?"{CNI_NETWORK}\\?"')
    ours = {m for line in saved.splitlines() if mark.search(line) for m in re.findall(r"CNI-[\w-]+", line)}
    return {name for name in ours if not name.startswith("CNI-HOSTPORT")}


def removal(saved: str, table: str, ours: Callable[[str], bool]) -> str:
    """Input for `iptables-restore --noflush` that deletes our chains and every rule that jumps to them.

    `saved` is the output of `iptables-save -t table`. Empty when there is nothing of ours.
    """
    chains = [line[1:].split()[0] for line in saved.splitlines() if line.startswith(":")]
    doomed = [name for name in chains if ours(name)]
    if not doomed:
        return ""
    rules = [line for line in saved.splitlines() if line.startswith("-A ")]
    outside = [rule for rule in rules if rule.split()[1] not in doomed]
    jumps = [rule for rule in outside if _target(rule) in doomed]
    lines = [f"*{table}", *(f":{name} - [0:0]" for name in doomed)]
    lines += [rule.replace("-A ", "-D ", 1) for rule in jumps]
    return "\n".join([*lines, *(f"-X {name}" for name in doomed), "COMMIT", ""])


def _target(rule: str) -> str:
    found = re.search(r" -[jg] (\S+)", rule)
    return found.group(1) if found else ""


def flush(ours: Callable[[str], bool]) -> None:
    """Delete our chains in every table of both families."""
    for family in FAMILIES:
        for table in TABLES:
            saved = attempt([f"{family}-save", "-t", table], seconds=30).stdout
            if script := removal(saved, table, ours):
                run([f"{family}-restore", "--noflush", "--wait", "10"], stdin=script)


def flush_node() -> None:
    """Delete the chains of kube-proxy, kubelet, kube-router and of our CNI network."""
    named = cni_chains(attempt(["iptables-save", "-t", "nat"], seconds=30).stdout)
    flush(lambda name: bool(NODE_CHAINS.match(name)) or name in named)
    _forget_plugin_chains()
    destroy_sets()
    counters.delete_ours()


def _forget_plugin_chains() -> None:
    """The portmap plugin's shared chains go only when nobody else's rules are left in them."""
    saved = attempt(["iptables-save", "-t", "nat"], seconds=30).stdout
    shared = ("CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-SETMARK", "CNI-HOSTPORT-MASQ")
    if not re.search(r"^-A CNI-HOSTPORT-DNAT ", saved, re.MULTILINE):
        flush(lambda name: name in shared)


def flush_enforcer() -> None:
    """Delete what the policy enforcer wrote, and leave kube-proxy's chains alone."""
    flush(lambda name: bool(ENFORCER_CHAINS.match(name)))
    destroy_sets()


def destroy_sets() -> None:
    for name in attempt(["ipset", "list", "-n"]).stdout.split():
        if ENFORCER_SETS.match(name):
            attempt(["ipset", "destroy", name])


def enforcing() -> bool:
    """Whether the enforcer's chains are in the path of forwarded packets."""
    saved = attempt(["iptables-save", "-t", "filter"], seconds=30).stdout
    return re.search(r"^-A FORWARD .*-j KUBE-ROUTER-FORWARD", saved, re.MULTILINE) is not None
