"""The database behind the ledger: what it does not answer is one kind of error, whoever asked."""

import pytest
from guildhall_gateway.store import Store, StoreError
from support.postgres import free_port


@pytest.mark.parametrize("kind", ["read", "write"])
async def test_a_postgresql_that_is_away_is_said_as_any_other_fault(kind: str) -> None:
    """Its driver raises errors of its own while it connects; routes and loops know the store's alone."""
    store = Store(f"postgresql://test@127.0.0.1:{free_port()}/ledger")
    try:
        with pytest.raises(StoreError, match="the database"):
            await getattr(store, kind)(lambda connection: connection.exec_driver_sql("SELECT 1"))
    finally:
        await store.close()
