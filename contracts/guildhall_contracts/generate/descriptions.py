"""What a field means, in one line: its comment or docstring in the source, else the glossary."""

import ast
import inspect
import io
import tokenize
from functools import cache
from types import ModuleType

from guildhall_contracts.base import Record
from guildhall_contracts.generate.glossary import GLOSSARY


def record_doc(model: type[Record]) -> str:
    """The record's own docstring as one paragraph, else the glossary's; empty when nobody wrote one."""
    own = model.__dict__.get("__doc__")
    return " ".join(own.split()) if own else GLOSSARY.get(model.__name__, "")


def field_doc(model: type[Record], name: str) -> str:
    """One line about field `name` of `model`, found along its bases; empty when nobody wrote one."""
    for owner in model.__mro__:
        if name not in inspect.get_annotations(owner):
            continue
        wire = _wire(model, name)
        source = _comments(inspect.getmodule(owner)).get((owner.__name__, name), "")
        return source or GLOSSARY.get(f"{owner.__name__}.{wire}", "") or GLOSSARY.get(wire, "")
    return ""


def own_fields(model: type[Record]) -> list[str]:
    """Names of the fields the record declares itself, not those of its bases."""
    own = inspect.get_annotations(model)
    return [name for name in model.model_fields if name in own]


def _wire(model: type[Record], name: str) -> str:
    return model.model_fields[name].alias or name


@cache
def _comments(module: ModuleType | None) -> dict[tuple[str, str], str]:
    """(class, field) → its trailing comment or the string literal below it."""
    if module is None:
        return {}
    source = inspect.getsource(module)
    by_line = _comment_lines(source)
    found: dict[tuple[str, str], str] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            found |= {(node.name, field): text for field, text in _in_class(node, by_line)}
    return found


def _comment_lines(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {token.start[0]: token.string.lstrip("# ").strip() for token in tokens if token.type == tokenize.COMMENT}
    return {line: text for line, text in comments.items() if not text.startswith(("noqa", "type:", "fmt:"))}


def _in_class(node: ast.ClassDef, by_line: dict[int, str]) -> list[tuple[str, str]]:
    found = []
    followers = [*node.body[1:], None]
    for statement, after in zip(node.body, followers, strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        text = _literal(after) or by_line.get(statement.end_lineno or statement.lineno, "")
        if text:
            found.append((statement.target.id, text))
    return found


def _literal(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return ""
