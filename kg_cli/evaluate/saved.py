from __future__ import annotations

from typing import Annotated

import typer

from kg_cli.terminal.connect import (
    JsonOption,
    OffsetOption,
    OnlyOntologyOption,
    PageOption,
    YesOption,
    confirm,
    report,
)

# `kg eval results`: what the service has of saved results.

group = typer.Typer(help="Results that the service has saved: list and delete them.", no_args_is_help=True)


@group.command("list")
def show_results(
    *,
    ontology: OnlyOntologyOption = None,
    offset: OffsetOption = 0,
    limit: PageOption = 50,
    as_json: JsonOption = False,
) -> None:
    """List saved results, the newest first.

    Example: kg eval results list --ontology handbook
    """
    from kg_cli.evaluate.views import print_results

    report(lambda kg: kg.evaluations(ontology, offset=offset, limit=limit), print_results, as_json=as_json)


@group.command("delete")
def delete_result(
    name: Annotated[str, typer.Argument(help="As `kg eval results list` tells it.")],
    *,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Delete a saved result with its answers and its picture.

    Example: kg eval results delete 20260101T000000Z-handbook-full-hybrid-1a2b3c4d --yes
    """
    from kg_cli.evaluate.views import print_deleted

    if not yes:
        confirm(f"Delete the result {name} for good?")
    report(lambda kg: kg.delete_evaluation(name), print_deleted, as_json=as_json)
