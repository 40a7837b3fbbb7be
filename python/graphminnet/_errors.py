"""Exceptions. Their texts are those of the command: what, where, what was expected, what to do."""

from __future__ import annotations


class Error(Exception):
    """Whatever goes wrong in this package; a cause that the text does not say itself is its ``__cause__``."""


class UsageError(Error, ValueError):
    """An argument or a setting makes no sense."""


class DataError(Error, ValueError):
    """Data cannot be used, or does not fit the model."""


class MachineError(Error, OSError):
    """The machine or a file did not cooperate."""


class MissingError(Error, FileNotFoundError):
    """A file is not there."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C before the first epoch was done. The state is saved; ``run`` can be resumed where it is not None."""

    def __init__(self, run: object = None, text: str | None = None) -> None:
        how = f"interrupted; go on with graphminnet.resume({str(run)!r})" if run else "interrupted"
        super().__init__(text or how)
        self.run = run

    def __reduce__(self) -> tuple[object, ...]:
        return Interrupted, (self.run, str(self))
