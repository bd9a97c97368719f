"""Up, down and the acts between: the one place where the parts are wired together."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import api, build, components, configs, ground, images, leftovers, network, pki, processes
from .components import Component
from .configs import Options
from .errors import RefusalError, StepError
from .layout import SOURCES, Layout
from .shell import say

COST = (
    "the embedded cluster: Kubernetes 1.37, etcd, containerd, kube-router and CoreDNS on this machine\n"
    "  it is up in about 10 seconds and takes about 1.3 GB of memory and half a core when idle"
)
BUILD_COST = "  to build, this first time: about 8 minutes on two cores, 7 GB of disk (most of it Go's caches)"


@contextmanager
def _alone(layout: Layout) -> Iterator[None]:
    """One command at a time; a second one waits for the first."""
    layout.cache.mkdir(parents=True, exist_ok=True)
    with (layout.cache / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another cluster command to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def up(layout: Layout, log_max_size: str | None, yes: bool) -> None:
    """Bring the cluster up, or repair it, or do nothing when it is up; returns when pods can run."""
    ground.check_machine()
    with _alone(layout):
        bin_ = _prepare_binaries(layout, yes)
        _prepare_state(layout, log_max_size)
        started = _start_all(layout, bin_)
        _wait_for_pods(layout, bin_)
    say(f"up ({', '.join(started)} started)" if started else "up (nothing to do)")


def _prepare_binaries(layout: Layout, yes: bool) -> Path:
    """What may refuse comes first, what is asked about next, what takes long last."""
    built = build.binaries(layout).exists()
    if not built:
        ground.check_go()
    ground.check_alone(layout.state)
    packages = ground.missing_packages(shutil.which, ground.cni_folder(), ground.busybox())
    if packages or not built:
        say(COST)
    if not built:
        say(BUILD_COST)
    if packages:
        ground.install(packages, yes)
        ground.check_alone(layout.state)  # once more: iptables may be there only now
    return build.build(layout)


def _prepare_state(layout: Layout, log_max_size: str | None) -> None:
    for folder in layout.folders():
        folder.mkdir(parents=True, exist_ok=True)
    leftovers.remember_absent(layout.state / "absent.json")
    network.remember_sysctls(layout.state / "sysctls.json")
    leftovers.claim(layout)
    options = Options(log_max_size) if log_max_size else configs.load_options(layout)
    configs.save_options(layout, options)
    cni = ground.cni_folder()
    if cni is None:
        raise RefusalError("the CNI plugins are not installed (Debian: containernetworking-plugins)")
    configs.write(configs.files(layout, options, cni))
    pki.issue(layout)
    network.raise_links()
    leftovers.make_cgroups()


def _start(layout: Layout, wanted: list[Component]) -> list[str]:
    started = [component.name for component in wanted if processes.ensure(layout, component)]
    if started:
        say(f"started {', '.join(started)}")
    return started


def _stop_outdated(layout: Layout, bin_: Path) -> None:
    """After a rebuild everything restarts: clients before servers, so that each ends at once."""
    wanted = components.all_components(layout, bin_)
    first = processes.record(layout, wanted[0].name)
    if first is not None and first.digest != processes.digest(wanted[0]):
        say("the binaries changed: restarting every component")
        for component in reversed(wanted):
            processes.stop(layout, component.name, seconds=5)


def _start_all(layout: Layout, bin_: Path) -> list[str]:
    _stop_outdated(layout, bin_)
    everything = [component.name for component in components.all_components(layout, bin_)]
    processes.end(processes.unrecorded(layout, everything), seconds=5)
    started = _start(layout, components.control_plane(layout, bin_))
    names = ["etcd", "containerd", "kube-apiserver"]
    processes.wait_until(layout, "containerd", lambda: _containerd_answers(layout, bin_), names)
    busybox = ground.busybox()
    if busybox is None:
        raise RefusalError("a static busybox is not installed (Debian: busybox-static)")
    if images.ensure_infrastructure(layout, bin_, busybox):
        say("imported the images for pause, DNS and helpers")
    processes.wait_until(layout, "the API server", lambda: api.ready(layout), names)
    started += _start(layout, components.workers(layout, bin_))
    names.append("kubelet")
    processes.wait_until(layout, "the node's address", lambda: api.node_address(layout), names)
    api.kubectl(layout, bin_, "apply", "-f", SOURCES / "manifests")
    started += _start(layout, components.late(layout, bin_))
    processes.wait_until(layout, "the policy enforcer", network.enforcing, [components.ENFORCER])
    return started


def _containerd_answers(layout: Layout, bin_: Path) -> bool:
    try:
        images.present(layout, bin_)
    except StepError:
        return False
    return True


def _wait_for_pods(layout: Layout, bin_: Path) -> None:
    everything = [component.name for component in components.all_components(layout, bin_)]
    processes.wait_until(layout, "a ready node", lambda: api.node_ready(layout), everything)
    processes.wait_until(layout, "the kubelet's pods", lambda: api.kubelet_knows_pods(layout), everything)
    processes.wait_until(layout, "cluster DNS", lambda: api.dns_ready(layout), everything)


def down(layout: Layout) -> None:
    """Stop everything and take away every trace but the cached binaries; works on a crashed cluster too.

    Rules, links and groups have one name on a machine: they are touched only where they are this cluster's.
    """
    ground.check_machine()
    with _alone(layout):
        if not leftovers.are_ours(layout):
            shutil.rmtree(layout.state, ignore_errors=True)
            say("down (it was not up)")
            return
        _stop_all(layout)
        leftovers.unmount(layout.state)
        network.flush_node()
        network.drop_links()
        leftovers.remove_cgroups()
        network.restore_sysctls(layout.state / "sysctls.json")
        leftovers.remove_new(layout.state / "absent.json")
        if left := leftovers.mounts_under(layout.state):
            raise StepError(f"still mounted: {', '.join(left)}; the state folder was kept")
        shutil.rmtree(layout.state, ignore_errors=True)
        leftovers.release()
    say("down")


def _stop_all(layout: Layout) -> None:
    """Writers of new things first, then the pods, then the rest."""
    names = [component.name for component in components.all_components(layout, layout.cache)]
    for name in reversed(names):
        if name != "containerd" and processes.stop(layout, name, seconds=1):
            say(f"stopped {name}")
    processes.end(processes.strays(layout, [n for n in names if n != "containerd"]), seconds=2)
    leftovers.kill_contained()
    if processes.stop(layout, "containerd", seconds=1):
        say("stopped containerd")
    processes.end(processes.strays(layout, [*names, "containerd-shim-runc-v2"]), seconds=2)
    leftovers.kill_contained()


def require_up(layout: Layout) -> Path:
    """The binaries of the running cluster, or a refusal that says how to get one."""
    bin_ = build.binaries(layout)
    if not bin_.exists() or not api.ready(layout):
        raise RefusalError("the embedded cluster is not up; run: tests/cluster/cluster.py up")
    return bin_


def status(layout: Layout) -> dict[str, object]:
    """What runs, for people and scripts: `up` is true only when pods can run with policy enforced."""
    bin_ = build.binaries(layout)
    running = {c.name: processes.alive(layout, c.name) for c in components.all_components(layout, bin_)}
    healthy = all(running.values()) and api.node_ready(layout) and api.dns_ready(layout)
    enforced = running[components.ENFORCER] and network.enforcing()
    return {
        "up": healthy and enforced,
        "enforcing": enforced,
        "components": running,
        "kubeconfig": str(layout.kubeconfig),
        "bin": str(bin_),
        "audit_log": str(layout.audit_log),
        "log_max_size": configs.load_options(layout).log_max_size,
    }


def enforcer(layout: Layout, on: bool) -> None:
    """Switch NetworkPolicy enforcement; off also takes the written rules away, so that traffic flows."""
    bin_ = require_up(layout)
    with _alone(layout):
        if on:
            wanted = [c for c in components.all_components(layout, bin_) if c.name == components.ENFORCER]
            _start(layout, wanted)
            processes.wait_until(layout, "the policy enforcer", network.enforcing, [components.ENFORCER])
        else:
            processes.stop(layout, components.ENFORCER)
            network.flush_enforcer()
    say(f"enforcer {'on' if on else 'off'}")


def restart(layout: Layout, name: str) -> None:
    """Stop one component and start it again; refuses an unknown name with the known ones."""
    bin_ = build.binaries(layout)
    known = {component.name: component for component in components.all_components(layout, bin_)}
    if name not in known:
        raise RefusalError(f"no component {name}; there are: {', '.join(known)}")
    with _alone(layout):
        processes.stop(layout, name)
        processes.ensure(layout, known[name])
        processes.wait_until(layout, f"{name} and the API", lambda: api.ready(layout), [name])
        _wait_for_pods(layout, bin_)
    say(f"restarted {name}")


def load(layout: Layout, paths: list[Path], missing_only: bool) -> None:
    """Import image archives (docker or OCI); with `missing_only`, those whose references are not there yet."""
    bin_ = require_up(layout)
    have = images.present(layout, bin_) if missing_only else set()
    for path in paths:
        if not path.is_file():
            raise RefusalError(f"{path} is not an image archive")
        named = images.references(path) if missing_only else set()
        if named and named <= have:
            continue
        images.load(layout, bin_, path)
        say(f"imported {path.name}")
