"""The worker's own deadline: it expires without help, stands while paused, and stops."""

import threading
import time

from guildhall_executor.code.clock import Deadline


def test_it_expires_on_its_own_thread() -> None:
    expired = threading.Event()
    names: list[str] = []
    Deadline(0.02, lambda: (names.append(threading.current_thread().name), expired.set()))
    assert expired.wait(5)
    assert names != [threading.main_thread().name]


def test_the_time_it_is_paused_does_not_count() -> None:
    expired = threading.Event()
    deadline = Deadline(0.15, expired.set)
    with deadline.paused():
        assert not expired.wait(0.4)
    began = time.monotonic()
    assert expired.wait(5)
    assert time.monotonic() - began > 0.05


def test_a_stopped_one_never_expires() -> None:
    expired, control = threading.Event(), threading.Event()
    Deadline(0.05, expired.set).stop()
    Deadline(0.1, control.set)
    assert control.wait(5)
    assert not expired.is_set()
