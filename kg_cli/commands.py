"""Every group of commands, in the order of the help: first the stack, then by name.

A module here has `register(app)`, which adds its commands. What a command needs is imported in its body: all
these modules are loaded for `kg --help`, which is to take less than 0.3 s.
"""

from __future__ import annotations

from typing import Protocol

import typer

from kg_cli.admin import commands as admin
from kg_cli.concepts import commands as concepts
from kg_cli.documents import conversation, folders, ingest, library
from kg_cli.evaluate import commands as evaluate
from kg_cli.jobs import commands as jobs
from kg_cli.mcp import commands as mcp
from kg_cli.search import answer, augment, similarity
from kg_cli.search import commands as search
from kg_cli.stack import commands as stack
from kg_cli.stack import service


class CommandModule(Protocol):
    """What a module of commands offers."""

    def register(self, app: typer.Typer) -> None:
        """Add the module's commands."""
        ...


MODULES: tuple[CommandModule, ...] = (
    stack,
    admin,
    answer,
    augment,
    concepts,
    conversation,
    evaluate,
    folders,
    ingest,
    jobs,
    library,
    mcp,
    search,
    service,
    similarity,
)


def register_all(app: typer.Typer) -> None:
    """Add the commands of every module."""
    for module in MODULES:
        module.register(app)
