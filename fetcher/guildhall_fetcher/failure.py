"""Why a fetch failed: what happened, who must act, and whether a second try may help."""

from guildhall_contracts.fetch import FetchOutcome


class FetchFailed(Exception):  # noqa: N818  reads as what it says
    """The message is for the person who wrote the Run. `transient`: the network's doing, worth another try."""

    def __init__(self, outcome: FetchOutcome, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.message = message
        self.transient = transient
