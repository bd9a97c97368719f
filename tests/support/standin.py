"""Stand-ins for the run pod's containers and the gateway, so that the operator can be tested on a cluster alone.

One image made of busybox and two scripts. The executor does what its task says, in words such as
`sleep=2 outcome=failed kind=budget_exhausted`; `outcome=silent` leaves no message, `outcome=oom` eats its memory,
`term=ignore` bears SIGTERM, `connect=ADDRESS` tries the canary there in a loop and says `reached` or `refused`.
"""

import tempfile
from pathlib import Path
from typing import Any

from cluster.embedded.ground import busybox
from cluster.embedded.images import Entry, archive
from support.cluster import RESTRICTED, Cluster, command

IMAGE = "guildhall.dev/operator-standin:1"

_WORKSHOP = r"""#!/bin/sh
case "$1" in
prepare)
  while [ $# -gt 0 ]; do [ "$1" = --bin ] && bin=$2; shift; done
  cp /guildhall-workshop "$bin/guildhall-workshop"
  printf '%s' '{"v":1,"outcome":"passed","targets":[{"name":"canary","required":true,"attempts":3,"deniedInARow":3,
"last":"refused"}],"workspace":{"files":0,"contentBytes":0},"elapsedMilliseconds":1}' > /dev/termination-log ;;
serve)
  trap 'exit 0' TERM
  while :; do sleep 1 & wait $!; done ;;
esac
"""

_EXECUTOR = r"""#!/bin/sh
snapshot=/guildhall/snapshot/snapshot.json
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" $snapshot; }
outcome=succeeded kind= sleep=0 term=obey connect=
for word in $(field task); do case "$word" in *=*) export "$word";; esac; done
[ "$term" = ignore ] && trap '' TERM || trap 'exit 143' TERM
cat /guildhall/token/token /guildhall/ca/ca.crt > /dev/null && echo probe > /guildhall/journal/probe || exit 9
[ -n "$connect" ] && while :; do
  if nc -w 1 "$connect" 8444 < /dev/null | grep -q canary; then echo reached; else echo refused; fi
  sleep 0.2
done &
sleep "$sleep" & wait $!
case "$outcome" in
silent) exit 3 ;;
oom) tail /dev/zero ;;
esac
[ -n "$kind" ] && kind=",\"errorKind\":\"$kind\""
uid=$(sed -n 's/.*"run":"\([0-9a-f-]*\)".*/\1/p' $snapshot)
printf '{"v":1,"run":"%s","attempt":%s,"outcome":"%s","message":"as the task said","lastSeq":3%s}' \
  "$uid" "$GUILDHALL_ATTEMPT" "$outcome" "$kind" > /dev/termination-log
"""


def load_image() -> None:
    """Makes the image and imports it into the cluster."""
    binary = busybox()
    assert binary is not None, "a static busybox is needed (Debian: busybox-static)"
    names = ("sh", "cp", "printf", "sleep", "sed", "tail", "nc", "echo", "cat", "wget", "id", "env", "grep")
    entries = {"bin": Entry(), "tmp": Entry(mode=0o1777), "dev": Entry(), "bin/busybox": Entry(binary.read_bytes())}
    entries |= {f"bin/{name}": Entry(link="busybox") for name in names}
    entries["guildhall-workshop"] = Entry(_WORKSHOP.encode())
    entries["executor"] = Entry(_EXECUTOR.encode())
    config = {"Entrypoint": ["/executor"], "Env": ["PATH=/bin"]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standin.tar"
        path.write_bytes(archive(IMAGE, entries, config))
        command("load", str(path))


def gateway_pod() -> dict[str, Any]:
    """A pod behind the Service `guildhall-gateway` that answers on the gateway's port and on the canary's."""

    def listener(name: str, port: int) -> dict[str, Any]:
        return {
            "name": name,
            "image": IMAGE,
            "imagePullPolicy": "Never",
            "command": ["nc", "-ll", "-p", str(port), "-e", "echo", name],
            "ports": [{"name": name, "containerPort": port}],
            "securityContext": dict(RESTRICTED),
        }

    labels = {"app.kubernetes.io/name": "guildhall", "app.kubernetes.io/component": "gateway"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "gateway-standin", "labels": labels},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [listener("https", 8443), listener("canary", 8444)],
        },
    }


def token(cluster: Cluster, namespace: str, account: str) -> str:
    """A short-lived token of a ServiceAccount."""
    return cluster.kubectl("create", "token", account, "-n", namespace, "--duration=2h").strip()
