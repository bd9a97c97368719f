"""Questions and approvals that are over, told to the gateway until it has taken it. Pure.

Guards people against being asked what nobody waits for, and a yes against standing open: what is over is remembered,
so that a later attempt says again what an earlier one may not have lived to say.
"""

from guildhall_contracts import limits

from guildhall_executor.draft import Draft
from guildhall_executor.effects import Withdraw


def close(draft: Draft, over: Withdraw) -> None:
    """Nobody waits for this any more."""
    draft.change(closed=(*draft.state.closed, over)[-limits.CLOSED_REMEMBERED_MAX_COUNT :])
    draft.do(over)


def say_again(draft: Draft) -> None:
    """Tells the gateway once more what is over."""
    for over in draft.state.closed:
        draft.do(over)
