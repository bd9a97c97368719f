"""The stores under test."""

from unit.gateway.stores import postgres, store, store_url

__all__ = ["postgres", "store", "store_url"]
