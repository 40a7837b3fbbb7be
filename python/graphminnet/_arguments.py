"""Arguments that are numbers: those of numpy are as good as Python's own, and what makes no sense is refused by name."""

from __future__ import annotations

import math
from typing import Any, SupportsFloat, SupportsIndex

from ._errors import UsageError

#: What is taken as a whole number, and as a number: Python's and numpy's.
Whole = SupportsIndex
Number = SupportsFloat

#: More threads than machines have; far more would take minutes to start.
_THREADS = 1024
_SEEDS = 2**64 - 1


def plain(value: Any) -> Any:
    """Python's own value of a scalar of numpy, or of an array or tensor without dimensions."""
    # A data set of PyTorch Geometric must not be asked for a field, so its type is.
    return value.item() if hasattr(type(value), "ndim") and hasattr(value, "item") and value.ndim == 0 else value


def whole(value: Any, name: str, least: int = 0, most: int | None = None) -> int:
    """A whole number."""
    found = plain(value)
    if isinstance(found, bool) or not isinstance(found, int) or found < least or (most is not None and found > most):
        raise UsageError(f"{name}={found!r}: expected a whole number from {least}{'' if most is None else f' to {most}'}")
    return found


def number(value: Any, name: str) -> float:
    """A finite number."""
    found = plain(value)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found):
        raise UsageError(f"{name}={found!r}: expected a number")
    return float(found)


def flag(value: Any, name: str) -> bool:
    """True or False."""
    found = plain(value)
    if not isinstance(found, bool):
        raise UsageError(f"{name}={found!r}: expected True or False")
    return found


def threads_of(value: Any) -> int | None:
    """A number of threads; None stands for all cores."""
    return None if value is None else whole(value, "threads", 1, _THREADS)


def seed_of(value: Any, name: str) -> int:
    """A seed."""
    return whole(value, name, 0, _SEEDS)
