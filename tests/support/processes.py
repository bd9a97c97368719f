"""The processes behind a release's components, for tests that kill them."""

from typing import Any

from support.installation import Installation


def process_of(here: Installation, component: str) -> int:
    """The host's process id of a component's container; the kubelet of the test cluster runs on this machine."""
    selector = f"app.kubernetes.io/component={component}"
    (pod,) = [
        item
        for item in here.items("pods", here.control, selector)
        if item["status"]["phase"] == "Running" and "deletionTimestamp" not in item["metadata"]
    ]
    return host_process(here, pod["status"]["containerStatuses"][0])


def host_process(here: Installation, status: dict[str, Any]) -> int:
    """The same of any container, by its status."""
    container = status["containerID"].removeprefix("containerd://")
    socket = here.cluster.kubeconfig.parents[1] / "containerd.sock"
    listed = here.tool("ctr", "-a", str(socket), "-n", "k8s.io", "tasks", "ls")
    row = next(line.split() for line in listed.splitlines() if line.startswith(container))
    return int(row[1])


def wait_ready(here: Installation) -> None:
    """Until every component is rolled out and ready."""
    for component in ("operator", "gateway", "api"):
        here.control_kubectl("rollout", "status", f"deployment/guildhall-{component}", "--timeout=120s")
