"""Making room in a role's history, deterministically: tool output goes first; task, plan and people's words never.

Level 1 replaces old tool results by a note; level 2 drops whole old turns and shortens what is left. What a person said
stays at both: the last messages and answers stand after the head, and the note names the questions that are open.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.base import OpId
from guildhall_contracts.content import Block

from guildhall_executor import messages, prompt, questions
from guildhall_executor.draft import Draft
from guildhall_executor.messages import Message
from guildhall_executor.tools.result import block
from guildhall_executor.tools.text import byte_len, head_and_tail

LEVELS: Final = (1, 2)
HEAD_COUNT: Final = 2  # system and task or brief
RECENT_COUNT: Final = {1: 8, 2: 4}  # messages left alone, by level
SMALL_MAX_BYTES: Final = 400  # a result this small is not worth replacing
SHORTENED_MAX_BYTES: Final = 4_096
BYTES_MAX: Final = limits.MODEL_REQUEST_MAX_BYTES * 3 // 4
COUNT_MAX: Final = limits.MODEL_MESSAGES_MAX_COUNT - 100
_DROPPED: Final = "[guildhall: this older tool result was dropped to make room; call the tool again if you need it]"

ANSWER_NAME: Final = "ask_human"
PEOPLE_MAX_COUNT: Final = 16

History = tuple[Message, ...]
Note = Callable[[int], Message]


def shorten(draft: Draft, op: OpId) -> bool:
    """Shortens a role's history by the next level; False when nothing is left to shorten."""
    invocation = draft.role(op)
    for level in LEVELS[invocation.compactions :]:
        shorter = compact(invocation.history, level, _note(draft))
        if shorter is not None:
            draft.change_role(op, history=shorter, compactions=level)
            return True
    return False


def keep_within_bounds(draft: Draft, op: OpId) -> None:
    """Shortens before the gateway would have to refuse the request for its size."""
    for level in LEVELS:
        history = draft.role(op).history
        if len(history) <= COUNT_MAX and size_bytes(history) <= BYTES_MAX:
            return
        draft.change_role(op, history=compact(history, level, _note(draft)) or history)


def _note(draft: Draft) -> Note:
    """The note's words for so many dropped messages."""
    plan, questions_open = draft.state.plan, questions.open_texts(draft.state)
    return lambda dropped: prompt.note_message(plan, dropped, questions_open)


def compact(history: History, level: int, note: Note) -> History | None:
    """A shorter history with a note and the plan after its head; None when this level has nothing to take away."""
    rest = tuple(message for message in history[HEAD_COUNT:] if message.name != prompt.NOTE_NAME)
    old, new = _split(rest, RECENT_COUNT[level])
    kept = tuple(_stub(message) for message in old) if level == 1 else _from_people(old)
    if level > 1:
        new = tuple(_shortened(message) for message in new)
    shorter = (*history[:HEAD_COUNT], note(len(old) - len(kept)), *kept, *new)
    return shorter if size_bytes(shorter) < size_bytes(history) else None


def _split(rest: History, recent: int) -> tuple[History, History]:
    """Splits before an assistant message, so that no result is parted from its call."""
    at = max(len(rest) - recent, 0)
    while at > 0 and rest[at].kind == "tool":
        at -= 1
    return rest[:at], rest[at:]


def _from_people(old: History) -> History:
    """The last things people said: their messages, and their answers as messages of their own."""
    said = [_as_said(message) for message in old if message.name in (prompt.PERSON_NAME, ANSWER_NAME)]
    return tuple(said[-PEOPLE_MAX_COUNT:])


def _as_said(message: Message) -> Message:
    if message.kind != "tool":
        return message
    blocks = [Block.model_validate(part) for part in json.loads(message.body)["content"]]
    return replace(messages.user(*blocks), name=prompt.PERSON_NAME)


def _stub(message: Message) -> Message:
    if message.kind != "tool" or message.name == ANSWER_NAME or len(message.body) <= SMALL_MAX_BYTES:
        return message
    return messages.tool(message.call, message.name, block(_DROPPED), is_error=message.is_error)


def _shortened(message: Message) -> Message:
    if message.kind != "tool" or message.name == ANSWER_NAME or len(message.body) <= SHORTENED_MAX_BYTES:
        return message
    blocks = [Block.model_validate(part) for part in json.loads(message.body)["content"]]
    return messages.tool(message.call, message.name, *_cut(blocks), is_error=message.is_error)


def _cut(blocks: list[Block]) -> list[Block]:
    """The blocks with the middle of the long ones left out; each still says whose words it holds."""
    room, cut = SHORTENED_MAX_BYTES // 2, list(blocks)
    by_size = sorted(range(len(blocks)), key=lambda at: byte_len(blocks[at].text))
    for left, at in zip(range(len(blocks), 0, -1), by_size, strict=True):
        shown, _ = head_and_tail(blocks[at].text, room // left)
        cut[at] = blocks[at].model_copy(update={"text": shown})
        room = max(room - byte_len(shown), 0)
    return cut


def size_bytes(history: History) -> int:
    return sum([len(message.body) for message in history])
