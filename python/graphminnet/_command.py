"""The command ``graphminnet``: the same program as the one that Cargo builds, from the same module as the package."""

from __future__ import annotations

import signal
import sys

from ._call import call


def main() -> None:
    """Runs the command with the arguments of this process."""
    # The command listens to Ctrl-C itself; Python's handler would end it with a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(call("command", ["graphminnet", *sys.argv[1:]]).value)
