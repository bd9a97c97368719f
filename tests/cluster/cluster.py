#!/usr/bin/env python3
"""The embedded Kubernetes: `cluster.py up`, `down`, and what a test needs between."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from pathlib import Path

# The package is `cluster.embedded` for everybody, so the folder above takes this one's place.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from cluster.embedded import lifecycle, volumes  # noqa: E402
from cluster.embedded.build import binaries  # noqa: E402
from cluster.embedded.errors import RefusalError, StepError  # noqa: E402
from cluster.embedded.layout import Layout, from_environment  # noqa: E402


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="build if needed, start or repair, wait until pods can run")
    up.add_argument("--yes", action="store_true", help="install missing packages without asking (or YES=1)")
    up.add_argument("--log-max-size", metavar="SIZE", help="rotate container logs at this size, as 1Mi")
    commands.add_parser("down", help="stop everything and leave nothing but the cached binaries")
    status = commands.add_parser("status", help="exit 0 when up, 1 when not")
    status.add_argument("--json", action="store_true")
    commands.add_parser("env", help='print exports for the shell: eval "$(cluster.py env)"')
    load = commands.add_parser("load", help="import image archives")
    load.add_argument("--missing", action="store_true", help="skip an archive whose references are there already")
    load.add_argument("archives", nargs="+", type=Path)
    enforcer = commands.add_parser("enforcer", help="NetworkPolicy enforcement on or off")
    enforcer.add_argument("to", choices=("on", "off"))
    restart = commands.add_parser("restart", help="stop and start one component")
    restart.add_argument("component")
    volume = commands.add_parser("volume", help="a PersistentVolume of a fixed size, class `bounded`")
    volume.add_argument("act", choices=("create", "delete"))
    volume.add_argument("name")
    volume.add_argument("mib", nargs="?", type=int, default=16, help="size in MiB (16)")
    return parser.parse_args()


def _print_env(layout: Layout) -> None:
    bin_ = binaries(layout)
    print(f"export KUBECONFIG={shlex.quote(str(layout.kubeconfig))}")
    print(f"export PATH={shlex.quote(str(bin_))}:$PATH")
    print(f"export GUILDHALL_CLUSTER_STATE={shlex.quote(str(layout.state))}")


def _print_status(layout: Layout, as_json: bool) -> int:
    found = lifecycle.status(layout)
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        running = found["components"]
        assert isinstance(running, dict)
        for name, alive in running.items():
            print(f"{name:26} {'running' if alive else 'not running'}")
        print(f"up: {found['up']}  policy enforced: {found['enforcing']}")
    return 0 if found["up"] else 1


def _volume(layout: Layout, act: str, name: str, mib: int) -> None:
    bin_ = lifecycle.require_up(layout)
    if act == "create":
        volumes.create(layout, bin_, name, mib)
    else:
        volumes.delete(layout, bin_, name)


def _run(arguments: argparse.Namespace, layout: Layout) -> int:
    match arguments.command:
        case "up":
            yes = arguments.yes or os.environ.get("YES") == "1"
            lifecycle.up(layout, arguments.log_max_size, yes)
        case "down":
            lifecycle.down(layout)
        case "status":
            return _print_status(layout, arguments.json)
        case "env":
            _print_env(layout)
        case "load":
            lifecycle.load(layout, arguments.archives, arguments.missing)
        case "enforcer":
            lifecycle.enforcer(layout, arguments.to == "on")
        case "restart":
            lifecycle.restart(layout, arguments.component)
        case "volume":
            _volume(layout, arguments.act, arguments.name, arguments.mib)
    return 0


def main() -> int:
    try:
        return _run(_arguments(), from_environment())
    except RefusalError as refusal:
        print(f"cluster: {refusal}", file=sys.stderr)
        return 2
    except StepError as failure:
        print(f"cluster: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        if not os.environ.get("GUILDHALL_WITHIN"):  # who started it says it
            print("\ncluster: interrupted; the same command goes on where this one stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
