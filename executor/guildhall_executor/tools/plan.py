"""`update_plan`: the list of steps people see and compaction keeps."""

from typing import Literal

from guildhall_contracts import limits
from guildhall_contracts.events import PlanItem
from pydantic import Field

from guildhall_executor.emit import bounded_texts
from guildhall_executor.tools.arguments import Arguments


class PlanStep(Arguments):
    text: str = Field(min_length=1, max_length=limits.EVENT_PLAN_ITEM_MAX_CHARS)
    status: Literal["pending", "active", "done", "dropped"] = "pending"


class UpdatePlan(Arguments):
    items: list[PlanStep] = Field(
        max_length=limits.EVENT_PLAN_ITEMS_MAX_COUNT, description="The whole plan; it replaces the one before."
    )

    def title(self) -> str:
        return "update the plan"

    def plan(self) -> tuple[PlanItem, ...]:
        """The steps, with texts that fit into one event together."""
        texts = bounded_texts([item.text for item in self.items])
        return tuple(PlanItem(text=text, status=item.status) for text, item in zip(texts, self.items, strict=True))


_BOXES = {"pending": "[ ]", "active": "[>]", "done": "[x]", "dropped": "[-]"}


def plan_markdown(items: tuple[PlanItem, ...]) -> str:
    """The plan as a Markdown list, one line an item; empty for no plan."""
    return "\n".join(f"- {_BOXES[item.status]} {item.text}" for item in items)
