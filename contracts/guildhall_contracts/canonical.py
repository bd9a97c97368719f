"""Canonical JSON (RFC 8785) and its SHA-256: what digests, approvals and replays are bound to."""

import hashlib
import json
from typing import Any

import rfc8785

from guildhall_contracts.base import Record


class NotCanonical(ValueError):  # noqa: N818  reads as what it says
    """A value that has no canonical form: duplicate keys, NaN, infinities, integers beyond 2^53, lone surrogates."""


def canonical_json(value: Any) -> bytes:
    """The RFC 8785 bytes of a JSON value. Raises NotCanonical."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeError, RecursionError) as error:
        raise NotCanonical(f"value has no canonical JSON form: {error}") from error


def sha256_hex(data: bytes) -> str:
    """Lower-case hexadecimal SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def digest(record: Record) -> str:
    """SHA-256 of the canonical wire form of `record`; equal meaning, equal digest."""
    return sha256_hex(canonical_json(record.to_wire()))


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise NotCanonical("an object names one key twice")
    return dict(pairs)


def _refuse_constant(name: str) -> Any:
    raise NotCanonical(f"{name} is not a JSON number")


def parse_arguments(text: str) -> dict[str, Any]:
    """Tool arguments as the model wrote them. Raises NotCanonical for anything but one unambiguous JSON object."""
    try:
        value = json.loads(text, object_pairs_hook=_refuse_duplicates, parse_constant=_refuse_constant)
    except NotCanonical:
        raise
    except (ValueError, RecursionError) as error:
        raise NotCanonical(f"arguments are not JSON: {error}") from error
    if not isinstance(value, dict):
        raise NotCanonical("arguments are not a JSON object")
    canonical_json(value)
    return value


def arguments_hash(arguments: dict[str, Any]) -> str:
    """SHA-256 of the canonical form of complete tool arguments. Raises NotCanonical."""
    return sha256_hex(canonical_json(arguments))
