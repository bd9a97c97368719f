"""What both programs do at their edges: they read one request from the environment and leave one strict word."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

from guildhall_contracts.base import Record, first_problem
from pydantic import ValidationError

from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.places import Places
from guildhall_fetcher.process import PROXY_VARIABLES

Request = TypeVar("Request", bound=Record)
Word = TypeVar("Word", bound=Record)


def request_in(variable: str, kind: type[Request]) -> Request:
    """What an environment variable asks for. Raises FetchFailed, with the field that is wrong."""
    try:
        return kind.model_validate_json(os.environ.get(variable, ""), strict=True)
    except ValidationError as error:
        where, words = first_problem(error)
        raise FetchFailed("internal", f"{variable}: {where} {words}") from error


def proxies() -> dict[str, str]:
    """The proxy variables that are set."""
    return {name: os.environ[name] for name in PROXY_VARIABLES if os.environ.get(name)}


def word_of(attempt: Callable[[Places], Word], places: Places, encoded: Callable[[Word], str]) -> Word:
    """Makes the attempt, and leaves its word, with the time it took, where the kubelet and people look.

    Raises Stopped, and leaves no word, where it was told to end before it knew one.
    """
    began = time.monotonic()
    word = attempt(places)
    word = word.model_copy(update={"elapsed_milliseconds": round(1000 * (time.monotonic() - began))})
    text = encoded(word)
    places.message.write_text(text, encoding="utf-8")
    print(text)  # noqa: T201  the pod's log is for people
    return word
