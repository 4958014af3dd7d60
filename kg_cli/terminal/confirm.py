"""Asking before something goes for good."""

from __future__ import annotations

import sys

import typer


def confirm(question: str) -> None:
    """Ask, and go on with a yes only.

    Raises:
        Abort: it was no, or nobody is there to ask; that is told.
    """
    try:
        typer.confirm(question, abort=True, err=True)
    except typer.Abort:
        if not sys.stdin.isatty():
            from kg_cli.terminal.console import complain

            complain("nothing was done: without a terminal to ask, --yes goes on without asking")
        raise
