"""How long to wait before what failed is tried again: the longer, the more failures follow one another. Pure."""


def pause_after(failures: int, first_seconds: float, most_seconds: float) -> float:
    """Seconds to wait after so many failures in a row: `first_seconds`, then twice as long each time."""
    return min(first_seconds * 2.0 ** min(max(failures - 1, 0), 20), most_seconds)


def failures_after(before: int, lived_seconds: float, most_seconds: float) -> int:
    """How many failures follow one another, now that something failed that had lived so long.

    What outlived every pause had been well: its end, as by a load balancer that cuts silence, is the first failure.
    """
    return 1 if lived_seconds > most_seconds else before + 1
