"""Asking before something goes for good."""

from __future__ import annotations

import sys

import typer

REFUSED = 1
"""The exit code of a no: what was asked for was not done."""


def confirm(question: str) -> None:
    """Ask, and go on with a yes only.

    Raises:
        Abort: nobody is there to ask; that is told.
        Exit: it was no; that is told, too.
    """
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        if not sys.stdin.isatty():
            from kg_cli.terminal.console import complain

            complain("nothing was done: without a terminal to ask, --yes goes on without asking")
        raise
    if not agreed:
        from kg_cli.terminal.console import say

        say("nothing was done")
        raise typer.Exit(REFUSED)
