"""`python -m guildhall_fetcher.publisher`: pushes what `GUILDHALL_PUBLISH` names, and says one strict word about it."""

import os
import sys
import time
import traceback

from guildhall_contracts.base import one_line
from guildhall_contracts.limits import FETCH_MESSAGE_MAX_CHARS
from guildhall_contracts.publish import PublishMessage, PublishRequest
from pydantic import ValidationError

from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.places import Places, places_from
from guildhall_fetcher.process import PROXY_VARIABLES, bound_self
from guildhall_fetcher.publish import PublishFailed, published


def _request() -> PublishRequest:
    try:
        return PublishRequest.model_validate_json(os.environ.get("GUILDHALL_PUBLISH", ""), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise PublishFailed("failed", f"GUILDHALL_PUBLISH: {where} {first['msg']}") from error


def attempt(places: Places) -> PublishMessage:
    """Publishes; every end there is, as a message."""
    try:
        request = _request()
        bound_self(request.max_bytes, request.memory_bytes)
        proxies = {name: os.environ[name] for name in PROXY_VARIABLES if os.environ.get(name)}
        return PublishMessage(outcome="published", commit=published(request, places, proxies))
    except PublishFailed as failed:
        return PublishMessage(outcome=failed.outcome, message=one_line(failed.message, FETCH_MESSAGE_MAX_CHARS))
    except FetchFailed as failed:
        return PublishMessage(outcome="failed", message=one_line(failed.message, FETCH_MESSAGE_MAX_CHARS))
    except MemoryError:
        what = "the publisher ran out of memory (chart value fetcher.resources)"
        return PublishMessage(outcome="failed", message=what)
    except Exception as error:  # noqa: BLE001  the last border: without a word nobody would know the cause
        traceback.print_exc()
        what = f"{type(error).__name__}; report this with the Run's address"
        return PublishMessage(outcome="failed", message=what)


def main() -> int:
    """0: the branch is there; 1: it is not, and the message says why."""
    places = places_from("python -m guildhall_fetcher.publisher", __doc__ or "")
    began = time.monotonic()
    message = attempt(places)
    message = message.model_copy(update={"elapsed_milliseconds": round(1000 * (time.monotonic() - began))})
    text = message.model_dump_json(by_alias=True, exclude_none=True)
    places.message.write_text(text, encoding="utf-8")
    print(text)  # noqa: T201  the pod's log is for people
    return 0 if message.outcome == "published" else 1


if __name__ == "__main__":
    sys.exit(main())
