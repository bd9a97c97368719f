"""One Run as a single HTML file that needs nothing else: no script, no request, no style from data. Pure.

Guards whoever opens it: everything is escaped, but for prose, which `markup` has made safe.
"""

from html import escape
from typing import Any, Final

from guildhall_contracts.base import dollars

from guildhall_api.markup import Render

OPERATIONS_MAX_COUNT: Final = 2_000
PATCH_MAX_CHARS: Final = 1024 * 1024
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE: Final = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8886; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid #8886; }
"""
Wire = dict[str, Any]


def report_html(summary: Wire, model: Wire, patch: str | None, render: Render) -> str:
    """The report of a Run from its row, its model and its patch."""
    run = model["run"]
    parts = [
        _facts(summary, run),
        _prose("Task", run["task"] or summary.get("task", ""), render),
        _prose("Result", run["result"], render),
        _error(run.get("error"), render),
        _plan(run["plan"]),
        _gaps(run),
        _operations(model["operations"], _labels(run)),
        _files(run["changedFiles"]),
        _patch(patch),
    ]
    label = escape(summary["label"])
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{label}</title><style>{_STYLE}</style></head>'
        f"<body><h1>{label}</h1>{''.join(parts)}</body></html>\n"
    )


def _facts(summary: Wire, run: Wire) -> str:
    booked = summary.get("usage")
    spent, whose = (booked, "as the gateway booked it") if booked else (run["metrics"], "the executor's own count")
    scripted = "yes: the replies were written beforehand" if run["scripted"] else ""
    rows = {
        "Run": summary["id"], "Identity": summary["uid"], "Status": run["status"], "Guild": summary.get("guild", ""),
        "Started": run.get("startedAt", ""), "Ended": run.get("endedAt", ""), "Isolation": run["isolation"],
        "Tokens read / written": f"{spent['tokens']} / {spent['outputTokens']} ({whose})",
        "Cost": f"{_money(spent.get('costMicroUSD'))} ({whose})",
        "Errors": str(run["errors"]), "Unreadable lines": str(run["unreadable"]) if run["unreadable"] else "",
        "Scripted model": scripted,
    }  # fmt: skip
    cells = (f"<tr><th>{name}</th><td>{escape(value)}</td></tr>" for name, value in rows.items() if value)
    return f"<table>{''.join(cells)}</table>"


def _money(micro_usd: int | None) -> str:
    return "–" if micro_usd is None else dollars(micro_usd)


def _prose(title: str, text: str, render: Render) -> str:
    return f"<h2>{title}</h2><section>{render(text)}</section>" if text else ""


def _error(error: Wire | None, render: Render) -> str:
    return _prose("Error", error["message"], render) if error else ""


def _plan(items: list[Wire]) -> str:
    rows = (f"<li>{escape(item['status'])}: {escape(item['text'])}</li>" for item in items)
    return f"<h2>Plan</h2><ol>{''.join(rows)}</ol>" if items else ""


def _gaps(run: Wire) -> str:
    if not run["gaps"]:
        return ""
    ranges = ", ".join(f"{gap['first']}–{gap['last']}" for gap in run["gaps"])
    return f"<h2>Missing events</h2><p>These events never arrived: {ranges}.</p>"


def _labels(run: Wire) -> dict[str, str]:
    return {f"role:{role['name']}": role["label"] for role in run["roles"]} | {"human": "The human"}


def _operations(operations: list[Wire], labels: dict[str, str]) -> str:
    rows = [_operation(each, labels) for each in operations[:OPERATIONS_MAX_COUNT]]
    more = len(operations) - len(rows)
    rest = f"<p>{more} more are not listed.</p>" if more > 0 else ""
    head = "<tr><th>At</th><th>What</th><th>Who</th><th>Whom</th><th>Outcome</th><th>Seconds</th><th>Cost</th></tr>"
    return f"<h2>Operations</h2><table>{head}{''.join(rows)}</table>{rest}" if rows else ""


def _operation(operation: Wire, labels: dict[str, str]) -> str:
    what = f"{operation['kind']} {operation['title']}".strip()
    source, destination = str(operation["source"]), str(operation["destination"])
    who, whom = labels.get(source, source), labels.get(destination, destination)
    words = (operation["startedAt"][11:19], what, who, whom, operation["outcome"])
    metrics = operation["metrics"]
    numbers = (f"{metrics['elapsedSeconds']:.1f}", _money(metrics["costMicroUSD"]))
    cells = [f"<td>{escape(word)}</td>" for word in words] + [f'<td class="number">{each}</td>' for each in numbers]
    return f"<tr>{''.join(cells)}</tr>"


def _marks(file: Wire) -> str:
    return ", ".join(word for key, word in (("willRun", "will run"), ("generated", "generated")) if file.get(key))


def _files(files: list[Wire]) -> str:
    rows = (
        f"<tr><td>{escape(file['path'])}</td><td>{escape(file['status'])}</td>"
        f'<td class="number">+{file["added"]} −{file["removed"]}</td>'
        f"<td>{_marks(file)}</td></tr>"
        for file in files
    )
    return f"<h2>Changed files</h2><table>{''.join(rows)}</table>" if files else ""


def _patch(patch: str | None) -> str:
    if not patch:
        return ""
    cut = "\n… cut: download the patch to see all of it" if len(patch) > PATCH_MAX_CHARS else ""
    return f"<h2>Patch</h2><pre>{escape(patch[:PATCH_MAX_CHARS] + cut)}</pre>"
