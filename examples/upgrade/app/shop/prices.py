"""Prices, looked up once and kept."""

from collections.abc import Callable

from cachetools import MRUCache, cached


class Prices:
    """Prices of a catalogue; the item looked at last is the first to go when the cache is full."""

    def __init__(self, lookup: Callable[[str], int], maxsize: int = 100) -> None:
        self.cache: MRUCache = MRUCache(maxsize)
        self.of = cached(self.cache)(lookup)
