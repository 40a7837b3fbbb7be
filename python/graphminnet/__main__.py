"""``python -m graphminnet`` is the command."""

from ._command import main

main()
