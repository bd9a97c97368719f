"""Kubernetes quantities as numbers, for the few places where one bound follows from another."""

import re
from fractions import Fraction
from typing import Final

_SUFFIXES: Final = {
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
}
MIB: Final = 2**20
_QUANTITY: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?")


def amount(quantity: str) -> Fraction:
    """The exact value of a quantity such as `500m` or `1Gi`. Raises ValueError for anything else."""
    found = _QUANTITY.fullmatch(quantity)
    if found is None:
        raise ValueError(f"'{quantity}' is not a quantity; write for example 500m, 1Gi or 2")
    return Fraction(found[1]) * _SUFFIXES[found[2] or ""]


def smaller(one: str, other: str) -> str:
    """The lesser of two quantities, as it was written."""
    return one if amount(one) <= amount(other) else other


def larger(wanted: str, least: str) -> str:
    """The greater of two quantities, as it was written; `wanted` where `least` is none that is known here."""
    try:
        return wanted if amount(wanted) >= amount(least) else least
    except ValueError:
        return wanted


def share_mib(quantity: str, parts: int, at_most_mib: int) -> str:
    """One `parts`-th of a memory quantity in whole MiB, at least 1 and at most `at_most_mib`."""
    mib = int(amount(quantity) / MIB / parts)
    return f"{max(1, min(mib, at_most_mib))}Mi"
