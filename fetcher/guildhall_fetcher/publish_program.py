"""One delivery as a program: pushes what `GUILDHALL_PUBLISH` names, and says one strict word about it."""

import traceback

from guildhall_contracts.base import one_line
from guildhall_contracts.limits import FETCH_MESSAGE_MAX_CHARS
from guildhall_contracts.publish import PublishMessage, PublishRequest

from guildhall_fetcher.edges import proxies, request_in, word_of
from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.places import Places, places_from
from guildhall_fetcher.process import bound_self
from guildhall_fetcher.publish import PublishFailed, published


def encoded(message: PublishMessage) -> str:
    """The message as it is written; every text of it is bounded."""
    return message.model_dump_json(by_alias=True, exclude_none=True)


def attempt(places: Places) -> PublishMessage:
    """Publishes; every end there is, as a message."""
    try:
        request = request_in("GUILDHALL_PUBLISH", PublishRequest)
        bound_self(request.max_bytes, request.memory_bytes)
        return PublishMessage(outcome="published", commit=published(request, places, proxies()))
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
    return 0 if word_of(attempt, places, encoded).outcome == "published" else 1
