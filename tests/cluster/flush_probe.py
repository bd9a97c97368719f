"""Run inside an empty network namespace: loads the rules given on stdin, takes the cluster's away, prints each stage.

Stdin: JSON {"sets": `ipset save`, "rules": `iptables-save`}. Stdout: JSON lists of rules and set names.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from cluster.embedded import network  # noqa: E402


def _rules() -> list[str]:
    saved = subprocess.run(["iptables-save"], capture_output=True, text=True, check=True).stdout
    return [line for line in saved.splitlines() if line.startswith("-A") or " - [" in line]


def _sets() -> list[str]:
    return subprocess.run(["ipset", "list", "-n"], capture_output=True, text=True, check=True).stdout.split()


def main() -> None:
    given = json.load(sys.stdin)
    subprocess.run(["ipset", "restore"], input=given["sets"], text=True, check=True)
    subprocess.run(["iptables-restore"], input=given["rules"], text=True, check=True)
    for words in (["-N", "STRANGER"], ["-I", "FORWARD", "-j", "STRANGER"]):
        subprocess.run(["iptables", *words], check=True)
    said = {"before": _rules(), "setsBefore": _sets()}
    network.flush_enforcer()
    said["unenforced"] = _rules()
    network.flush_node()
    json.dump({**said, "after": _rules(), "sets": _sets()}, sys.stdout)


if __name__ == "__main__":
    main()
