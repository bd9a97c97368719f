"""From a Connection to where it leads and what is shown there. Guards a token against being sent to another host."""

from collections.abc import Collection
from typing import Final

from guildhall_contracts.connection import ConnectionSpec
from guildhall_contracts.fetch import place_of

from guildhall_gateway.adapters.guard import Network, origin_of
from guildhall_gateway.adapters.target import Problem, Target
from guildhall_gateway.runs import SecretSource

TOKEN_MAX_CHARS: Final = 8_192


async def target_of(
    spec: ConnectionSpec,
    namespace: str,
    allowed: Collection[str],
    forbidden: Collection[Network],
    secrets: SecretSource,
) -> Target:
    """The server with its token, read anew. Raises Problem, and OSError when the cluster does not answer."""
    origin = origin_of(spec.url)
    if not origin or origin not in allowed:
        raise Problem("HostNotAllowed", f"{origin or spec.url} is not one of gateway.connections.allow in the chart")
    token = "" if spec.auth is None else await _token(spec, spec.auth.secret_ref.name, namespace, secrets)
    return Target(spec.url, forbidden, token, spec.ca_bundle or "")


async def _token(spec: ConnectionSpec, name: str, namespace: str, secrets: SecretSource) -> str:
    values = await secrets.secret(namespace, name)
    if values is None:
        text = f"Secret '{name}' is not there, or not one of gateway.connections.secrets in the chart"
        raise Problem("SecretUnusable", text)
    scheme, _, where = origin_of(spec.url).partition("://")
    bound = place_of(_text(values.get("host")), "http" if scheme == "http" else "https")
    if bound is None or f"{bound[0]}:{bound[1]}" != where:
        text = f"the key 'host' of Secret '{name}' does not name {where}; without a port it names {scheme}'s own"
        raise Problem("SecretForOtherHost", text)
    token = _text(values.get("token"))
    if not token or len(token) > TOKEN_MAX_CHARS or not token.isprintable() or " " in token:
        raise Problem("SecretUnusable", f"the key 'token' of Secret '{name}' is missing, or is no bearer token")
    return token


def _text(value: bytes | None) -> str:
    try:
        return (value or b"").decode("ascii").strip()
    except UnicodeError:
        return ""
