"""Agent prose as HTML for the report: markdown-it-py, then nh3, by the console's own policy file.

Guards whoever opens the report; the file may be opened without any header of ours.
"""

import html
import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any, Final

import nh3
from markdown_it import MarkdownIt

PROSE_MAX_CHARS: Final = 16 * 1024
_REL: Final = "noopener noreferrer"

Render = Callable[[str], str]


def renderer(policy_json: bytes) -> Render:
    """A function from Markdown to safe HTML. Raises ValueError or KeyError for a policy that cannot be read."""
    policy = json.loads(policy_json)
    tags, dropped = set(policy["tags"]), set(policy["dropWithContent"])
    attributes = {tag: set(names) for tag, names in policy["attributes"].items()} | {"*": set[str]()}
    markdown = MarkdownIt("commonmark", {"html": True, "maxNesting": 20}).enable(["table", "strikethrough"])
    cleaner = nh3.Cleaner(
        tags=tags, clean_content_tags=dropped - tags, attributes=attributes, attribute_filter=_filter(policy),
        url_schemes=set(policy["schemes"]), link_rel=_REL, strip_comments=True,
    )  # fmt: skip

    def render(text: str) -> str:
        if len(text) > PROSE_MAX_CHARS:
            return plain(text)
        return cleaner.clean(markdown.render(text))

    return render


def plain(text: str) -> str:
    """Text as text."""
    return f"<pre>{html.escape(text)}</pre>"


def _filter(policy: dict[str, Any]) -> Callable[[str, str, str], str | None]:
    allowed = re.compile(policy["classPattern"])
    schemes = set(policy["schemes"])
    ignored = set(policy["schemeIgnoredCategories"])

    def keep(tag: str, name: str, value: str) -> str | None:
        if name == "class":
            return " ".join(each for each in value.split() if allowed.match(each)) or None
        if tag == "a" and name == "href":
            return value if scheme_allowed(value, schemes, ignored) else None
        return value

    return keep


def scheme_allowed(href: str, schemes: set[str], ignored: set[str]) -> bool:
    """Whether a link may stand: one of `schemes`, or none; read without the characters browsers skip."""
    bare = "".join(each for each in href if unicodedata.category(each) not in ignored)
    match = re.match(r"([^/?#:]*):", bare)
    return match is None or match[1].lower() in schemes
