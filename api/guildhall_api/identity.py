"""IdentitySource on Kubernetes: TokenReview says who, SubjectAccessReview says whether.

Guards against deciding here what the cluster's own rules decide; there is no impersonation.
"""

from guildhall_api.kube import Kube
from guildhall_api.source import Act, Person
from guildhall_api.summaries import part

_TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105
_ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class KubernetesIdentity:
    """Asks the API server. `audiences` empty: tokens for the API server itself."""

    def __init__(self, kube: Kube, audiences: list[str]) -> None:
        self._kube = kube
        self._audiences = audiences

    async def person(self, token: str) -> Person | None:
        spec: dict[str, object] = {"token": token}
        if self._audiences:
            spec["audiences"] = self._audiences
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
        answer, _ = await self._kube.call("POST", _TOKEN_REVIEWS, body=body)
        user = part(answer, "status", "user")
        name = part(user, "username")
        if part(answer, "status", "authenticated") is not True or not isinstance(name, str) or not name:
            return None
        if self._audiences and not set(self._audiences) & set(part(answer, "status", "audiences") or []):
            return None
        extra = part(user, "extra") or {}
        return Person(
            name, str(part(user, "uid") or ""), tuple(part(user, "groups") or ()),
            tuple((key, tuple(values)) for key, values in sorted(extra.items())),
        )  # fmt: skip

    async def may(self, person: Person, act: Act) -> bool:
        attributes = {"verb": act.verb, "namespace": act.namespace, "resource": act.resource, "group": act.group}
        if act.name:
            attributes["name"] = act.name
        spec = {
            "user": person.user, "uid": person.uid, "groups": list(person.groups),
            "extra": {key: list(values) for key, values in person.extra}, "resourceAttributes": attributes,
        }  # fmt: skip
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        answer, _ = await self._kube.call("POST", _ACCESS_REVIEWS, body=body)
        return part(answer, "status", "allowed") is True and part(answer, "status", "denied") is not True


class Everyone:
    """IdentitySource for `signIn.mode: none` on loopback: one person, who may do everything."""

    def __init__(self, user: str) -> None:
        self._person = Person(user)

    async def person(self, token: str) -> Person | None:
        return self._person

    async def may(self, person: Person, act: Act) -> bool:
        return True
