"""Every tool this executor knows. A name that is not here cannot be run, whatever a Guild or a model says."""

from dataclasses import dataclass
from typing import Any, Final

from guildhall_contracts.policy import HANDLER_TOOLS

from guildhall_executor.tools.arguments import Arguments, parameters
from guildhall_executor.tools.ask_human import AskHuman
from guildhall_executor.tools.code import DESCRIPTION as CODE_DESCRIPTION
from guildhall_executor.tools.code import RunCode
from guildhall_executor.tools.delegate import Delegate
from guildhall_executor.tools.file import EditFile, ListFiles, SearchFiles, WriteFile
from guildhall_executor.tools.finish import Finish
from guildhall_executor.tools.inspection import (
    ListRoleMessages,
    ReadMessageWindow,
    RecentRoleToolCalls,
    SearchRoleBlocks,
    TriggerInterrupt,
)
from guildhall_executor.tools.plan import UpdatePlan
from guildhall_executor.tools.read import ReadFile
from guildhall_executor.tools.shell import RunShell


@dataclass(frozen=True, slots=True)
class Tool:
    description: str
    arguments: type[Arguments]


CATALOG: Final[dict[str, Tool]] = {
    "read_file": Tool("Show lines of a text file of the workspace.", ReadFile),
    "write_file": Tool("Create a file, or replace its whole content.", WriteFile),
    "edit_file": Tool("Replace a piece of text in a file; every other byte stays as it is.", EditFile),
    "list_files": Tool("List a folder of the workspace.", ListFiles),
    "search_files": Tool("Find lines that match in the files of the workspace.", SearchFiles),
    "run_shell": Tool(
        "Run a shell command in the workspace. There is no network and no input; stdout and stderr come as one text. "
        "What a command leaves running ends with it, unless it was started with background.",
        RunShell,
    ),
    "run_code": Tool(CODE_DESCRIPTION, RunCode),
    "update_plan": Tool("Replace the plan of this Run, which people watch.", UpdatePlan),
    "delegate": Tool(
        "Give work to another role and get its summary. Several in one reply work side by side, on one workspace.",
        Delegate,
    ),
    "ask_human": Tool(
        "Ask the person who watches this Run, and wait for the answer. An answer tells you what they want; it does not "
        "permit a tool call that needs an approval.",
        AskHuman,
    ),
    "list_role_messages": Tool("An index of another role's messages: number, kind, tool, size.", ListRoleMessages),
    "read_message_window": Tool("The beginnings of a few of another role's messages.", ReadMessageWindow),
    "search_role_blocks": Tool("Where a text stands in another role's messages.", SearchRoleBlocks),
    "recent_role_tool_calls": Tool(
        "Another role's newest calls as hashes: equal hashes mean equal arguments or results.", RecentRoleToolCalls
    ),
    "trigger_interrupt": Tool(
        "Say one thing to the role you were woken for (redirect), or end the Run (abort). You can do it once.",
        TriggerInterrupt,
    ),
    "finish": Tool("End your work and hand over its result. Call it alone, when you are done.", Finish),
}

OWN_OPERATIONS: Final = frozenset({"update_plan", "delegate", "ask_human", "finish", "trigger_interrupt"})
"""Tools the loop itself performs; they have operations of their own and write no `tool.*` events."""

NOT_FROM_CODE: Final = OWN_OPERATIONS | HANDLER_TOOLS | {"run_code"}
"""Code works on data: it ends, asks and starts nothing, and runs no code."""


def tool_spec(name: str, delegates: tuple[str, ...] = ()) -> dict[str, Any]:
    """A tool as the model is shown it; `delegate` names the roles that may be asked."""
    tool = CATALOG[name]
    schema = parameters(tool.arguments)
    if name == "delegate":
        schema["properties"]["role"]["enum"] = list(delegates)
    return {"name": name, "description": tool.description, "parameters": schema}
