"""One fetch as a program: what `GUILDHALL_FETCH` asks for, and one strict word about it at the end."""

import traceback
from dataclasses import replace

from guildhall_contracts.base import one_line
from guildhall_contracts.fetch import FetchMessage, FetchRequest
from guildhall_contracts.limits import FETCH_MESSAGE_MAX_CHARS, TERMINATION_MESSAGE_MAX_BYTES

from guildhall_fetcher.edges import proxies, request_in, word_of
from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.fetch import fetched
from guildhall_fetcher.places import Places, places_from
from guildhall_fetcher.process import bound_self


def encoded(message: FetchMessage) -> str:
    """The message as it is written: within its bound, without paths where they would not fit."""
    text = message.model_dump_json(by_alias=True, exclude_none=True)
    if len(text.encode()) > TERMINATION_MESSAGE_MAX_BYTES and message.source is not None:
        source = message.source.model_copy(update={"submodule_paths": [], "lfs_paths": []})
        text = message.model_copy(update={"source": source}).model_dump_json(by_alias=True, exclude_none=True)
    if len(text.encode()) > TERMINATION_MESSAGE_MAX_BYTES:
        short = message.model_copy(update={"message": one_line(message.message, 100), "source": None})
        text = short.model_dump_json(by_alias=True, exclude_none=True)
    return text


def attempt(places: Places) -> FetchMessage:
    """Fetches; every end there is, as a message."""
    try:
        request = request_in("GUILDHALL_FETCH", FetchRequest)
        places = replace(places, attempt=request.attempt)
        bound_self(request.max_bytes, request.memory_bytes)
        source = fetched(request, places, proxies())
    except FetchFailed as failed:
        return FetchMessage(outcome=failed.outcome, message=one_line(failed.message, FETCH_MESSAGE_MAX_CHARS))
    except MemoryError:
        return FetchMessage(
            outcome="too_large", message="the fetcher ran out of memory (chart value fetcher.resources)"
        )
    except Exception as error:  # noqa: BLE001  the last border: without a word the Run would end without a cause
        traceback.print_exc()
        return FetchMessage(outcome="internal", message=f"{type(error).__name__}; report this with the Run's address")
    return FetchMessage(outcome="fetched", source=source)


def main() -> int:
    """0: the workspace is there; 1: it is not, and the message says why."""
    places = places_from("python -m guildhall_fetcher", __doc__ or "")
    return 0 if word_of(attempt, places, encoded).outcome == "fetched" else 1
