"""Both databases for what is stored."""

from unit.gateway.stores import postgres, store_url

__all__ = ["postgres", "store_url"]
