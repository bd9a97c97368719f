"""One Connection as the gateway keeps it, from what is written to what is told. Guards its tools: a spec that is not
sound offers none, and what was accepted judges what is listed."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from guildhall_contracts.base import first_problem
from guildhall_contracts.connection import ConnectionReason, ConnectionSpec
from pydantic import ValidationError

from guildhall_gateway.adapters.face import Spoken, connection_status
from guildhall_gateway.adapters.listing import Found, Offer, listed
from guildhall_gateway.runs import ConnectionView
from guildhall_gateway.watch import utc_now


@dataclass(slots=True)
class Kept:
    """One Connection as it is now."""

    view: ConnectionView
    spec: ConnectionSpec | None = None
    found: list[Found] = field(default_factory=list)
    pins: Mapping[str, str] | None = None
    offers: dict[str, Offer] = field(default_factory=dict)
    reason: ConnectionReason = "Unreachable"
    message: str = ""
    looked: bool = False  # its server was asked once, whatever came of it
    told: dict[str, Any] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    def take(self, view: ConnectionView) -> None:
        """The Connection as it is written now; its tools are judged by it at once."""
        self.view = view
        try:
            self.spec = ConnectionSpec.model_validate(view.spec)
        except ValidationError as error:
            self.spec, self.offers = None, {}
            self.reason, self.message = "SpecInvalid", "spec.{}: {}".format(*first_problem(error))
            return
        self.judge()

    def judge(self) -> None:
        if self.spec is not None and self.pins is not None:
            self.offers = {offer.part: offer for offer in listed(self.found, self.spec, self.pins)}

    def status(self) -> dict[str, Any]:
        """The status to write; equal to `told` where nothing has changed."""
        spoken = Spoken(self.reason, self.message, utc_now())
        if self.told:  # what was written last, whether or not the watch has brought it back
            last = self.told["conditions"][0]
            self.view = replace(self.view, ready=last["status"], since=last["lastTransitionTime"])
        return connection_status(self.view, self.spec, list(self.offers.values()), spoken)
