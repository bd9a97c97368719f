"""Which records exist, by the boundary they cross, in the order they are explained."""

import inspect
from types import ModuleType
from typing import Final, NamedTuple

from guildhall_contracts import (
    api,
    approvals,
    awaiting,
    conditions,
    connection,
    content,
    errors,
    event_envelope,
    event_people,
    event_work,
    events,
    external,
    fetch,
    frame_replies,
    frame_requests,
    frames,
    gate,
    guild,
    interaction,
    intervention,
    model_api,
    policy,
    publish,
    run,
    schedule,
    snapshot,
)
from guildhall_contracts.base import Record


class Section(NamedTuple):
    """One boundary: a title, who writes and who reads, and the modules whose records cross it."""

    title: str
    flow: str
    modules: tuple[ModuleType, ...]


SECTIONS: Final = (
    Section(
        "Custom resources",
        "people, api → Kubernetes → operator, gateway",
        (guild, run, intervention, connection, schedule, conditions),
    ),
    Section("Snapshot", "operator → ConfigMap → executor", (snapshot,)),
    Section("Gate and termination messages", "operator → prepare; prepare, executor → operator", (gate,)),
    Section("Fetcher", "operator → fetcher; fetcher → operator", (fetch,)),
    Section("Publisher", "operator → publisher; publisher → operator", (publish,)),
    Section(
        "LogEvents",
        "executor → stdout and journal → api → console",
        (event_envelope, event_work, event_people, events, errors),
    ),
    Section("InteractionModel", "fold of the LogEvents, in the api and in the console", (interaction,)),
    Section("Model api", "executor ↔ gateway", (model_api, content, policy, approvals)),
    Section("External tools", "executor ↔ gateway", (external,)),
    Section("Workshop frames", "executor ↔ workshop, over a Unix socket", (frame_requests, frame_replies, frames)),
    Section("People", "gateway → api → console", (awaiting,)),
    Section("Api", "api ↔ console and scripts", (api,)),
)


def records(module: ModuleType) -> list[type[Record]]:
    """The records `module` defines, in the order they stand there."""
    found = [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Record) and value.__module__ == module.__name__
    ]
    return sorted(found, key=lambda model: inspect.getsourcelines(model)[1])
