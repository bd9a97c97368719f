"""plan(run, observed, now): everything the operator would do for one Run at one moment. Pure and level-triggered.

It looks only at what is, never at what happened, so a lost event, a restart or a second call changes nothing.
"""

from datetime import datetime

from guildhall_operator.actions import Observed, Plan
from guildhall_operator.admit import admit
from guildhall_operator.again import again
from guildhall_operator.decision import Decision
from guildhall_operator.fetching import fetching
from guildhall_operator.finish import finish, seal_what_is_stored
from guildhall_operator.follow import follow
from guildhall_operator.run_view import RunView


def plan(run: RunView, observed: Observed, now: datetime) -> Plan:
    """What to do now. A Run being deleted needs nothing: its objects go with it."""
    if run.deleting:
        return Plan()
    decision = Decision(run, observed, now)
    if run.finished:
        finish(decision)
    elif run.fetching:
        fetching(decision)
    elif run.between:
        again(decision)
    elif run.started:
        follow(decision)
    else:
        admit(decision)
    if decision.draft.finished and not run.finished:
        seal_what_is_stored(decision)
    return decision.to_plan()
