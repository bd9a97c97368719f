"""The Kubernetes IdentitySource: a TokenReview with our audience; what it does not say is not believed."""

from typing import Any, Final

from guildhall_gateway.identity import TokenFacts
from guildhall_gateway.kube import KubeClient

REVIEWS_PATH: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_POD_NAME: Final = "authentication.kubernetes.io/pod-name"
_POD_UID: Final = "authentication.kubernetes.io/pod-uid"


def facts_of(answer: dict[str, Any], audience: str) -> TokenFacts | None:
    """What a TokenReview vouches for; None unless it is authenticated for `audience`."""
    status = answer.get("status")
    if not isinstance(status, dict) or status.get("authenticated") is not True:
        return None
    if audience not in (status.get("audiences") or []):
        return None
    user = status.get("user")
    username = user.get("username") if isinstance(user, dict) else None
    if not isinstance(username, str) or not username.startswith("system:serviceaccount:"):
        return None
    extra = user.get("extra") if isinstance(user, dict) else None
    return TokenFacts(username, username.split(":")[2], _only(extra, _POD_NAME), _only(extra, _POD_UID))


def _only(extra: Any, key: str) -> str:
    values = extra.get(key) if isinstance(extra, dict) else None
    return values[0] if isinstance(values, list) and len(values) == 1 and isinstance(values[0], str) else ""


class KubernetesIdentity:
    """Asks the API server about each token that is not in the authenticator's cache."""

    def __init__(self, client: KubeClient, audience: str) -> None:
        self._client = client
        self._audience = audience

    async def review(self, token: str) -> TokenFacts | None:
        """The token's facts; None when it is not valid for our audience. Raises OSError."""
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token, "audiences": [self._audience]},
        }
        return facts_of(await self._client.request("POST", REVIEWS_PATH, body=body), self._audience)
