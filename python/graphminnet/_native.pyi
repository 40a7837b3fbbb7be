from collections.abc import Callable
from typing import Any

def call(
    method: str,
    request: str,
    arrays: tuple[Any, ...],
    handle: object | None,
    callback: Callable[[str], object] | None,
    /,
) -> tuple[str, tuple[bytearray, ...], object | None]: ...
