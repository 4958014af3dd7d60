"""Entry point of the command `kg`, which imports the command line."""

from __future__ import annotations

import sys

from kg_cli import INTERRUPTED


def run() -> None:
    """Run the command line. Ctrl-C ends it without a traceback, also during the imports."""
    try:
        from kg_cli.main import run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()
