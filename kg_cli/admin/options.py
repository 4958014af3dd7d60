"""What the commands of `kg admin` share: options, and changing a configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

ConfigurationT = TypeVar("ConfigurationT")

OLD_NAMES = {"embedding": "spaces", "status": "list", "add": "create"}
"""`kg admin embedding` was a group of its own, with other words for the same."""

DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show the effects and the cost; change nothing.")
]
CreateOption = Annotated[bool, typer.Option("--create", help="Create the ontology if it does not exist.")]
FollowOption = Annotated[bool, typer.Option("--watch", help="Follow the jobs until they end.")]


class GroupWithOldNames(TyperGroup):
    """Knows commands by the names that they had before, too; its help does not show those."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Give a command of this group."""
        return super().get_command(ctx, OLD_NAMES.get(cmd_name, cmd_name))


def configure(
    read: Callable[[str], ConfigurationT],
    change: Callable[..., ConfigurationT],
    ontology: str,
    chosen: dict[str, Any],
    *,
    dry_run: bool,
    create: bool = False,
) -> ConfigurationT:
    """Change what was chosen of a configuration; with nothing chosen only read it."""
    if not (chosen or create):
        return read(ontology)
    if not create:
        read(ontology)  # a slip of the finger must not make an ontology
    return change(ontology, dry_run=dry_run, **chosen)
