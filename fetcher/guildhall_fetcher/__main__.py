"""`python -m guildhall_fetcher`: what `GUILDHALL_FETCH` asks for, and one strict word about it at the end."""

import os
import sys
import time
import traceback
from dataclasses import replace

from guildhall_contracts.base import one_line
from guildhall_contracts.fetch import FetchMessage, FetchRequest
from guildhall_contracts.limits import FETCH_MESSAGE_MAX_CHARS, TERMINATION_MESSAGE_MAX_BYTES
from pydantic import ValidationError

from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.fetch import fetched
from guildhall_fetcher.places import Places, places_from
from guildhall_fetcher.process import PROXY_VARIABLES, bound_self


def _request() -> FetchRequest:
    try:
        return FetchRequest.model_validate_json(os.environ.get("GUILDHALL_FETCH", ""), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise FetchFailed("internal", f"GUILDHALL_FETCH: {where} {first['msg']}") from error


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
        request = _request()
        places = replace(places, attempt=request.attempt)
        bound_self(request.max_bytes, request.memory_bytes)
        proxies = {name: os.environ[name] for name in PROXY_VARIABLES if os.environ.get(name)}
        source = fetched(request, places, proxies)
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
    began = time.monotonic()
    message = attempt(places)
    message = message.model_copy(update={"elapsed_milliseconds": round(1000 * (time.monotonic() - began))})
    text = encoded(message)
    places.message.write_text(text, encoding="utf-8")
    print(text)  # noqa: T201  the pod's log is for people
    return 0 if message.outcome == "fetched" else 1


if __name__ == "__main__":
    sys.exit(main())
