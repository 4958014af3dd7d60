"""`kg admin spaces`: changing the embedding model while people search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kg_cli.admin.embedding import add, status

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.models.embedding.switching import SpaceSwitched

NOT_OK = 1
Slug = Annotated[str, typer.Argument(help="Name of the space, as `kg admin spaces list` shows it.")]
Chosen = Annotated[
    list[str] | None,
    typer.Option("--ontology", "-o", help="Only this ontology; repeat for several. Unset: all."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the REST answer.")]


def register(admin: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        help="Change the embedding model while people search: create, build, check, activate.",
        no_args_is_help=True,
    )
    group.command("list")(list_spaces)
    group.command("create")(create)
    group.command("build")(build)
    group.command("check")(check)
    group.command("activate")(activate)
    group.command("rollback")(rollback)
    group.command("drop")(drop)
    admin.add_typer(group, name="spaces")


def list_spaces(*, as_json: AsJson = False) -> None:
    """List the embedding spaces: state, model, and the ontologies that use them.

    Example: kg admin spaces list
    """
    status(as_json=as_json)


def create(
    slug: Annotated[str, typer.Argument(help="Name of the space: lower-case letters, digits and _.")],
    *,
    provider: Annotated[str, typer.Option(help="local, openai, nomic or deterministic.")],
    model: Annotated[
        str | None, typer.Option(help="Name of the model; unset: the provider's default.")
    ] = None,
    dimensions: Annotated[
        int | None,
        typer.Option(
            help="Dimensions; unset: the model's default. Fewer if the model supports shortened vectors."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create an embedding space; the model is probed once, and gets its own index.

    Its key and address come from the environment of service and worker (OPENAI_API_KEY, ...).

    Example: kg admin spaces create small --provider openai --model text-embedding-3-small --dimensions 512
    """
    add(slug, provider=provider, model=model, dimensions=dimensions, as_json=as_json)


def build(
    slug: Slug,
    *,
    ontology: Chosen = None,
    activate: Annotated[
        bool, typer.Option("--activate", help="Activate the space automatically once it is complete.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the cost; change nothing.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Follow the jobs until they end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Embed ontologies in a space in the background, while the active one keeps serving searches.

    What is written meanwhile is embedded in both. Nothing changes for searches until you activate it.

    Example: kg admin spaces build small --ontology notes --watch
    """
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, print_table, say

    with open_client() as client:
        made = client.build_space(slug, ontologies=ontology, activate=activate, dry_run=dry_run)
        if as_json:
            print_json(made.model_dump(mode="json"))
        else:
            rows = [
                [
                    each.ontology,
                    each.answering,
                    str(each.due),
                    _takes(each.cost) if dry_run else each.job_id or "-",
                ]
                for each in made.builds
            ]
            columns = ["ontology", "answers meanwhile", "sources", "takes" if dry_run else "job"]
            print_table(columns, rows)
            for note in made.notes:
                say(f"note: {note}")
        if watch:
            _follow(client, [each.job_id for each in made.builds if each.job_id])
    if not (as_json or dry_run or activate):
        say(f"when it is complete: kg admin spaces check {slug} && kg admin spaces activate {slug}")


def check(
    slug: Slug,
    *,
    ontology: Annotated[
        str | None,
        typer.Option("--ontology", "-o", help="Ontology; unset: all that were built in the space."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check whether a space is ready: index, model, completeness, every vector; exit code 1 if not.

    Example: kg admin spaces check small
    """
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, print_table

    with open_client() as client:
        found = client.check_space(slug, ontology)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        rows = [[each.name, "ok" if each.ok else "NOT OK", each.detail] for each in found.findings]
        print_table(["check", "result", "detail"], rows)
    if not found.ok:
        raise typer.Exit(NOT_OK)


def activate(
    slug: Slug,
    *,
    ontology: Chosen = None,
    accept_refused: Annotated[
        bool, typer.Option("--accept-refused", help="Activate even if the model rejected some texts.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Activate an embedding space: it is checked, then switched at once.

    The previous one is kept for rollback.

    Without --ontology new ontologies use it too.

    Example: kg admin spaces activate small
    """
    from kg_cli.terminal.connect import open_client

    with open_client() as client:
        _print(client.activate_space(slug, ontology, accept_refused=accept_refused), as_json=as_json)


def rollback(slug: Slug, *, ontology: Chosen = None, as_json: AsJson = False) -> None:
    """Roll back to the previously active space, at once; cancel what is being built in this one.

    Example: kg admin spaces rollback small
    """
    from kg_cli.terminal.connect import open_client

    with open_client() as client:
        _print(client.rollback_space(slug, ontology), as_json=as_json)


def drop(
    slug: Slug,
    *,
    ontology: Annotated[
        str | None, typer.Option("--ontology", "-o", help="Only this ontology's unused vectors.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Drop a space with its index and vectors; it can no longer be rolled back to. Searches are not affected.

    Example: kg admin spaces drop small --yes
    """
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json, say

    what = f"the space {slug}" if ontology is None else f"what {ontology} does not need in {slug}"
    if not yes:
        typer.confirm(f"Remove {what} for good?", abort=True, err=True)
    with open_client() as client:
        dropped = client.drop_space(slug, ontology)
    if as_json:
        print_json(dropped.model_dump(mode="json"))
        return
    say(f"{what} is being removed: job {dropped.job_id}")
    for note in dropped.notes:
        say(f"note: {note}")


def _print(switched: SpaceSwitched, *, as_json: bool) -> None:
    from kg_cli.terminal.console import print_json, print_table, say

    if as_json:
        print_json(switched.model_dump(mode="json"))
        return
    print_table(
        ["ontology", "answered by", "now by"],
        [[each.ontology, each.before, each.now] for each in switched.ontologies],
    )
    for note in switched.notes:
        say(f"note: {note}")
    say(f"switched in {switched.seconds:.2f} s; new ontologies use {switched.space_of_new}")


def _takes(cost: object) -> str:
    from kg_api.models.embedding.configuration import Cost
    from kg_cli.terminal.costs import cost_rows

    if not isinstance(cost, Cost):
        return "-"
    return "\n".join(f"{name}: {told}" if name else told for name, told in cost_rows(cost))


def _follow(client: KgClient, job_ids: list[str]) -> None:
    from kg_cli.jobs.waiting import wait_for_jobs

    wait_for_jobs(client, job_ids)
