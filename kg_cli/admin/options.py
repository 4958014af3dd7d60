"""What the commands of `kg admin` share: options, and changing a configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, TypeVar

import typer
from typer.core import TyperGroup

ConfigurationT = TypeVar("ConfigurationT")

ByOption = Annotated[
    str | None, typer.Option("--by", help="Who does it, for the record; unset: the user of this machine.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show the effects and the cost; change nothing.")
]
CreateOption = Annotated[bool, typer.Option("--create", help="Create the ontology if it does not exist.")]
FollowOption = Annotated[bool, typer.Option("--watch", help="Follow the jobs until they end.")]


class AdminGroup(TyperGroup):
    """Knows `kg admin embedding`, which was a group of its own, too; help does not show it."""

    old_names: ClassVar[Mapping[str, str]] = {"embedding": "spaces"}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Give a command of this group, by its name or the one that it had before."""
        found = super().get_command(ctx, cmd_name)
        return found or super().get_command(ctx, self.old_names.get(cmd_name, cmd_name))


class SpacesGroup(AdminGroup):
    """Knows the words that `kg admin embedding` had for the same."""

    old_names: ClassVar[Mapping[str, str]] = {"status": "list", "add": "create"}


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
