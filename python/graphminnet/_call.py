"""Calls of the native module: JSON and arrays in and out, failures as exceptions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from . import _native
from ._arguments import plain
from ._errors import DataError, Error, Interrupted, MachineError, MissingError, UsageError

_CLASSES = {"usage": UsageError, "data": DataError, "machine": MachineError, "missing": MissingError}


class Reply(NamedTuple):
    """What a call gives back."""

    value: Any
    arrays: tuple[bytearray, ...]
    handle: object | None


def call(
    method: str,
    request: object,
    arrays: tuple[Any, ...] = (),
    handle: object | None = None,
    callback: Callable[[dict[str, Any]], object] | None = None,
) -> Reply:
    """Calls the library; paths may be part of the request, and arrays anything with a contiguous buffer."""
    parts = tuple(part if isinstance(part, bytes) else memoryview(part).tobytes() for part in arrays)
    tell = None if callback is None else lambda event: callback(json.loads(event))
    # Half a character, as in the name of a file that is no UTF-8, becomes a question mark, which no molecule has.
    asked = json.dumps(request, default=_own, ensure_ascii=False).encode(errors="replace").decode()
    text, found, handle = _native.call(method, asked, parts, handle, tell)
    value = json.loads(text)
    if isinstance(value, dict) and "failure" in value:
        raise _exception(value["failure"])
    return Reply(value, found, handle)


def _own(value: Any) -> Any:
    """What JSON knows of another type: a number of numpy, a path."""
    return found if (found := plain(value)) is not value else os.fspath(value)


def _exception(failure: dict[str, Any]) -> BaseException:
    if failure["class"] == "interrupted":
        return Interrupted()
    first, *causes = failure["texts"]
    raised = _CLASSES.get(failure["class"], Error)(first)
    outer: BaseException = raised
    for text in causes:
        outer.__cause__ = Error(text)
        outer = outer.__cause__
    return raised
