#!/usr/bin/env python3
"""What one Run costs a cluster: API writes (M1), time to its Job (M3) and to its first event (M14), beside a plain Job.

Counts come from the API server's audit log, times from stamps of one clock. Run it on an idle embedded cluster:
`.venv/bin/python bench/cluster_costs.py [RUNS]`; it prints a table and writes artifacts/bench/cluster_costs.json.
"""

import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT / "tests")

from conftest import install  # noqa: E402
from support.cluster import running  # noqa: E402
from support.git_pod import git_pod  # noqa: E402
from support.installation import NAMESPACE, Installation, one_role_guild, port_forward, run_manifest  # noqa: E402
from support.repositories import ordinary  # noqa: E402

PLAIN = "plain-job"


def stamp(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 stamp."""
    return datetime.fromisoformat(text).timestamp()


def writes_of(events: list[dict[str, Any]], uid: str, name: str) -> list[dict[str, Any]]:
    """The audit events about one Run and what was derived from it (every derived name holds the uid)."""
    return [
        event
        for event in events
        if uid in event["requestURI"]
        or uid in event.get("objectRef", {}).get("name", "")
        or event["requestURI"].split("?")[0].endswith((f"/runs/{name}", f"/runs/{name}/status"))
    ]


def act_of(event: dict[str, Any]) -> str:
    """Who did what to which kind of object."""
    about = event["objectRef"]
    kind = "/".join(filter(None, (about["resource"], about.get("subresource", ""))))
    return f"{event['user']['username'].rsplit(':', 1)[-1]} {event['verb']} {kind}"


def one_run(here: Installation, number: int, workspace: dict[str, Any] | None = None) -> dict[str, Any]:
    """Costs of one Run, without a source or with `workspace`."""
    name = f"bench-{number}"
    here.delete("run", name)
    before = len(here.cluster.writes(NAMESPACE))
    source = {"workspace": workspace} if workspace else {}
    here.apply(run_manifest(name, guild=one_role_guild("finish-at-once"), **source))
    run = here.wait_done(name, 120)
    time.sleep(6)
    events = here.cluster.writes(NAMESPACE)[before:]
    mine = writes_of(events, run["metadata"]["uid"], name)
    plain = [event for event in mine if event["objectRef"]["resource"] != "events"]
    by = Counter(event["user"]["username"].rsplit(":", 1)[-1] for event in plain)
    created = next(e for e in events if e["verb"] == "create" and e["objectRef"]["resource"] == "jobs")
    bound = [e for e in events if e["objectRef"].get("subresource") == "binding"][-1]  # a fetch pod is bound before
    apply_ = next(e for e in events if e["objectRef"]["resource"] == "runs" and e["verb"] in {"create", "patch"})
    first = here.events_of(name)[0]
    return {
        "writes": len(plain),
        "by": dict(by),
        "of": dict(sorted(Counter(map(act_of, plain)).items())),
        "eventWrites": len(mine) - len(plain),
        "runToJobMs": round(1000 * (stamp(created["stageTimestamp"]) - stamp(apply_["stageTimestamp"]))),
        "scheduledToFirstEventMs": round(1000 * (stamp(first["ts"]) - stamp(bound["stageTimestamp"]))),
    }


def plain_job(here: Installation, number: int) -> int:
    """Writes of the floor: a one-container Job of the same image that ends at once."""
    name = f"{PLAIN}-{number}"
    container = {
        "name": "c",
        "image": here.images["sandbox-python"],
        "command": ["true"],
        "resources": {"limits": {"cpu": "100m", "memory": "64Mi", "ephemeral-storage": "64Mi"}},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 10002,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    before = len(here.cluster.writes("default"))
    here.apply(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template}},
        namespace="default",
    )
    here.kubectl("-n", "default", "wait", f"job/{name}", "--for=condition=Complete", "--timeout=60s")
    time.sleep(3)
    mine = [
        event
        for event in here.cluster.writes("default")[before:]
        if name in event["requestURI"] + str(event["objectRef"])
    ]
    here.kubectl("-n", "default", "delete", "job", name, "--wait=false")
    return sum(event["objectRef"]["resource"] != "events" for event in mine)


def with_a_fetch(here: Installation, runs: int) -> list[dict[str, Any]]:
    """The same with a git source, served inside the cluster."""
    with tempfile.TemporaryDirectory() as folder, git_pod(here, Path(folder), lambda root, _: _put(root)) as server:
        source = {"git": {"url": server.git("good.git")}}
        return [one_run(here, number, source) for number in range(1, runs + 1)]


def _put(root: Path) -> None:
    ordinary(root)


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    here = install(running())
    with port_forward(here.environment, "guildhall-api", 80) as url:
        here.url = url
        one_run(here, 0)
        rows = [one_run(here, number) for number in range(1, runs + 1)]
        fetched = with_a_fetch(here, runs)
        floor = [plain_job(here, number) for number in range(3)]
    report = {"runs": rows, "fetched": fetched, "plainJobWrites": floor}
    out = ROOT / "artifacts" / "bench" / "cluster_costs.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=1))

    def middle(name: str) -> float:
        return statistics.median(row[name] for row in rows)

    print(f"API writes per Run, Events apart   {middle('writes'):>7.0f}   (plain Job {statistics.median(floor):.0f})")
    print(f"  by account                       {rows[-1]['by']}")
    print(f"  Events                           {middle('eventWrites'):>7.0f}")
    print(f"  with a fetch                     {statistics.median(row['writes'] for row in fetched):>7.0f}")
    print(f"  by account                       {fetched[-1]['by']}")
    print(f"Run created to Job created         {middle('runToJobMs'):>7.0f} ms")
    print(f"pod scheduled to first LogEvent    {middle('scheduledToFirstEventMs'):>7.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
