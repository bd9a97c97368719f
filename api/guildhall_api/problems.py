"""Every refusal in one form (RFC 9457): what happened, where, what to do. Nothing of the inside leaks."""

from collections.abc import Mapping

from guildhall_contracts.api import Problem
from starlette.responses import Response

from guildhall_api.kube import KubeError
from guildhall_api.kube_words import by_policy

PROBLEM_TYPE = "application/problem+json"


class Refused(Exception):  # noqa: N818
    """A request ends here with this answer."""

    def __init__(self, status: int, title: str, detail: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(title)
        self.status = status
        self.title = title
        self.detail = detail
        self.headers = dict(headers or {})


def problem(status: int, title: str, detail: str = "", headers: Mapping[str, str] | None = None) -> Response:
    """The response of a refusal."""
    record = Problem(title=title, status=status, detail=detail[:2_000])
    return Response(record.model_dump_json(by_alias=True), status, dict(headers or {}), PROBLEM_TYPE)


def from_cluster(error: KubeError, doing: str) -> Refused:
    """What the caller is told when the cluster refused the api's own request."""
    by_admission = "admission" in error.message.lower() or "denied request" in error.message
    if error.status in {400, 422} or (error.status == 403 and by_admission):
        return Refused(422, f"The cluster refused {doing}", by_policy(error.message))
    if error.status == 404:
        return Refused(404, f"The cluster knows no such object for {doing}", error.message)
    if error.status == 409:
        return Refused(409, f"The cluster reports a conflict for {doing}", error.message)
    if error.status == 403:
        return Refused(502, f"The api's own account may not do this: {doing}", error.message)
    return Refused(503, "The cluster cannot be reached", f"{doing}: try again in a moment", {"Retry-After": "5"})
