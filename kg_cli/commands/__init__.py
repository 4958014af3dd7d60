"""One module per group of commands.

Each has `register(app)`, which adds its commands. What a command needs is imported in its body: all these
modules are loaded for `kg --help`, which is to take less than 0.3 s.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Protocol, cast

import typer

FIRST = ("stack",)
"""Modules whose commands stand first in the help; the others follow by name."""


class CommandModule(Protocol):
    """What a module here offers."""

    def register(self, app: typer.Typer) -> None:
        """Add the module's commands."""
        ...


def register_all(app: typer.Typer) -> None:
    """Add the commands of every module in this folder."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    for name in sorted(names, key=lambda name: (name not in FIRST, name)):
        module = cast("CommandModule", importlib.import_module(f"{__name__}.{name}"))
        module.register(app)
