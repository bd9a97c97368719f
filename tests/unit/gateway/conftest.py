"""The stores under test."""

from support.postgres import postgres, store, store_url

__all__ = ["postgres", "store", "store_url"]
