"""What a tool may do, by what its Connection declares and by what its schema shows. Pure.

Guards against a "read" that carries data out: a tool that is handed an address, or that says it fetches one, leaves the
cluster with whatever the model puts there. A server's own claim that a tool only reads is not believed.
"""

import re
from typing import Any, Final

from guildhall_contracts.policy import EXTERNAL_DEFAULT, ToolPolicy, stricter

_WORDS: Final = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ADDRESSES: Final = frozenset({
    "url", "urls", "uri", "uris", "iri", "href", "link", "links", "endpoint", "endpoints", "webhook", "webhooks",
    "callback", "host", "hosts", "hostname", "domain", "domains", "website", "site", "feed", "origin", "proxy",
    "server", "address", "addresses", "recipient", "recipients",
})  # fmt: skip
# The same in names whose words run together (`IMAGEURL`, `webpage`), as the capitals do not part them.
_RUN_TOGETHER: Final = re.compile(
    r"url|^http|^web|^www|(?:uri|href|link|website|webpage|homepage|hostname|endpoint|webhook|callback|domain)s?$"
)
_FORMATS: Final = frozenset({"uri", "uri-reference", "iri", "iri-reference", "uri-template", "url", "hostname",
                             "idn-hostname", "ipv4", "ipv6", "email"})  # fmt: skip
_NO_TEXT: Final = ("integer", "number", "boolean", "null")
_PROGRAMS: Final = "curl|wget|httpie|s?ftp|scp|rsync|ssh|telnet|netcat|socat|whois|nslookup|traceroute"
_DEEDS: Final = re.compile(
    r"\b(fetch\w*|download\w*|brows\w+|crawl\w*|scrap\w+|navigat\w+|webhooks?|https?|urls?|web ?pages?|web ?sites?"
    rf"|{_PROGRAMS})\b",
    re.IGNORECASE,
)
_NAMED_DEEDS: Final = re.compile(
    rf"fetch|download|brows|crawl|scrap|navigat|webhook|http|url|webpage|website|^(?:{_PROGRAMS})$|wget|netcat"
)
_OUT: Final = ToolPolicy(effect="consequential", allowed_in_private=True, allowed_without_user_present=True)


def words(name: str) -> list[str]:
    """The words of an identifier in any of the usual styles, in lower case."""
    return [word.lower() for word in _WORDS.findall(name)]


def reaches_out(name: str, description: str, schema: dict[str, Any], hints: dict[str, Any]) -> str:
    """Why a tool counts as consequential whatever is declared; empty when nothing shows it."""
    for hint in ("openWorldHint", "destructiveHint"):
        if hints.get(hint) is True:
            return f"its server says {hint}"
    spoken = words(name)
    run_together = (_NAMED_DEEDS.search(word) for word in (*spoken, "".join(spoken)))
    deed = _DEEDS.search(" ".join(spoken)) or next(filter(None, run_together), None) or _DEEDS.search(description)
    if deed:
        return f"it says '{deed.group()}'"
    return _address_in(schema)


def _address_in(schema: dict[str, Any]) -> str:
    """The first argument, at any depth, that looks like an address."""
    if str(schema.get("format", "")).lower() in _FORMATS:
        return f"an argument has the format '{schema['format']}'"
    for name, part in schema.get("properties", {}).items():
        if _is_address(name) and part.get("type") not in _NO_TEXT:
            return f"its argument '{name}' looks like an address"
        deed = _DEEDS.search(part.get("description", ""))
        if deed:
            return f"its argument '{name}' says '{deed.group()}'"
    nested = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for key in ("anyOf", "allOf"):
        nested += schema.get(key, [])
    return next((why for part in nested if isinstance(part, dict) and (why := _address_in(part))), "")


def _is_address(name: str) -> bool:
    spoken = words(name)
    return bool(_ADDRESSES.intersection(spoken)) or any(map(_RUN_TOGETHER.search, (*spoken, "".join(spoken))))


def policy_of(declared: ToolPolicy | None, reaching: str) -> ToolPolicy:
    """What the Connection declares, the default where it says nothing, and never less than what is seen."""
    base = declared or EXTERNAL_DEFAULT
    return stricter(base, _OUT) if reaching else base
