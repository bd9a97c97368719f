"""What the gateway has seen of the cluster, filed by what it is asked by: the in-memory half of every RunSource."""

from typing import Any

from guildhall_gateway.runs import (
    AnyView,
    Change,
    ConnectionView,
    GuildView,
    InterventionView,
    Listener,
    PodView,
    RunView,
)


class ViewCache:
    """Views by uid, with the few indexes the gateway asks by."""

    def __init__(self) -> None:
        self._runs: dict[str, RunView] = {}
        self._pods: dict[str, PodView] = {}
        self._guilds: dict[tuple[str, str], GuildView] = {}
        self._connections: dict[str, ConnectionView] = {}
        self._interventions: dict[str, dict[str, InterventionView]] = {}
        self._listeners: list[Listener] = []

    def run(self, uid: str) -> RunView | None:
        return self._runs.get(uid)

    def runs(self) -> list[RunView]:
        return list(self._runs.values())

    def pod(self, uid: str) -> PodView | None:
        return self._pods.get(uid)

    def guild(self, namespace: str, name: str) -> GuildView | None:
        return self._guilds.get((namespace, name))

    def connections(self) -> list[ConnectionView]:
        return list(self._connections.values())

    def interventions(self, run_uid: str | None = None) -> list[InterventionView]:
        groups = self._interventions.values() if run_uid is None else [self._interventions.get(run_uid, {})]
        found = [item for group in groups for item in group.values()]
        return sorted(found, key=lambda item: (item.created, item.name))

    def subscribe(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def tell(self, change: Change, view: AnyView) -> None:
        """Take a change in, then pass it on."""
        self._file(change, view)
        for listener in self._listeners:
            listener(change, view)

    def _file(self, change: Change, view: AnyView) -> None:
        gone = change == "gone"
        match view:
            case RunView():
                _put(self._runs, view.uid, view, gone=gone)
            case PodView():
                _put(self._pods, view.uid, view, gone=gone)
            case GuildView():
                _put(self._guilds, (view.namespace, view.name), view, gone=gone)
            case ConnectionView():
                _put(self._connections, view.uid, view, gone=gone)
            case InterventionView():
                items = self._interventions.setdefault(view.run_uid or "", {})
                _put(items, view.uid, view, gone=gone)
                if not items:
                    del self._interventions[view.run_uid or ""]


def _put(where: dict[Any, Any], key: Any, view: AnyView, *, gone: bool) -> None:
    if not gone:
        where[key] = view
    elif key in where and where[key].uid == view.uid:
        del where[key]
