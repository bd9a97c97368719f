"""Which collections are watched, and where each event goes: into the store, and the Runs it concerns on the queue."""

from collections.abc import Callable
from typing import Any, Final

from guildhall_contracts.snapshot import RUN_LABEL

from guildhall_operator.client import Kube
from guildhall_operator.manifests.owner import API_VERSION
from guildhall_operator.reflector import Reflector, Sink
from guildhall_operator.runs import RunKey, name_of, uid_of
from guildhall_operator.store import Store

Put = Callable[[dict[str, Any]], set[RunKey]]
LookAt = Callable[[set[RunKey]], None]


def _uids(raws: list[dict[str, Any]]) -> set[str]:
    return {uid_of(raw) for raw in raws}


def _names(raws: list[dict[str, Any]]) -> set[str]:
    return {name_of(raw)[1] for raw in raws}


def _feed(look_at: LookAt, put: Put, drop: Put, stale: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Sink:
    def change(kind: str, raw: dict[str, Any]) -> None:
        look_at(drop(raw) if kind == "DELETED" else put(raw))

    def replace(raws: list[dict[str, Any]]) -> None:
        for gone in stale(raws):
            look_at(drop(gone))
        for raw in raws:
            look_at(put(raw))

    return Sink(replace, change)


def _nothing(_: Any) -> Any:
    return set()


SELECTORS: Final[dict[str, dict[str, str]]] = {
    "jobs": {"labelSelector": RUN_LABEL},
    "events": {"fieldSelector": "type=Warning"},
}


def reflectors(kube: Kube, store: Store, namespace: str, look_at: LookAt, look_at_schedules: LookAt) -> list[Reflector]:
    """The live copies of one run namespace."""

    def named(what: str) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
        return lambda raws: store.stale_named(what, namespace, _names(raws))

    core, batch, net, ours = "/api/v1", "/apis/batch/v1", "/apis/networking.k8s.io/v1", f"/apis/{API_VERSION}"
    policies = _feed(look_at, store.put_policy, store.drop_policy, named("policies"))
    claims = _feed(look_at, store.put_claim, store.drop_claim, named("claims"))
    pods = _feed(look_at, store.put_pod, store.drop_pod, lambda raws: store.stale_pods(namespace, _uids(raws)))
    jobs = _feed(look_at, store.put_job, store.drop_job, lambda raws: store.stale_jobs(namespace, _uids(raws)))
    events = _feed(look_at, store.put_event, _nothing, lambda _: [])
    schedules = _feed(look_at_schedules, store.put_schedule, store.drop_schedule, named("schedules"))
    sinks = [
        (ours, "runschedules", schedules),
        (net, "networkpolicies", policies),
        (core, "persistentvolumeclaims", claims),
        (core, "pods", pods),
        (batch, "jobs", jobs),
        (core, "events", events),
    ]
    return [
        Reflector(kube, f"{group}/namespaces/{namespace}/{plural}", sink, params=SELECTORS.get(plural))
        for group, plural, sink in sinks
    ]
