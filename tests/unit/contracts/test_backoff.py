"""How long is waited: longer from failure to failure, never longer than the bound, and anew after a long life."""

import pytest
from guildhall_contracts.backoff import failures_after, pause_after


def test_pauses_double_up_to_the_bound() -> None:
    assert [pause_after(failures, 0.5, 15) for failures in range(8)] == [0.5, 0.5, 1, 2, 4, 8, 15, 15]
    assert pause_after(1_000_000, 0.001, 15) == 15


@pytest.mark.parametrize(("lived", "failures"), [(0.0, 4), (30.0, 4), (30.1, 1), (240.0, 1)])
def test_what_outlived_every_pause_fails_for_the_first_time(lived: float, failures: int) -> None:
    assert failures_after(3, lived, 30) == failures
