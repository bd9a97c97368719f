"""Both databases for what is stored."""

from support.postgres import postgres, store_url

__all__ = ["postgres", "store_url"]
