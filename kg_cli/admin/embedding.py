"""`kg admin source-embeddings` and `kg admin spaces`: embeddings of text, and embedding spaces."""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from kg_api.schemas.vocabulary import ContextMode, ImageProvider, Modality, Provider, Strategy
from kg_api.wording import are, pluralize
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import Table, command, configure, emit, make_group, message
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import argument, option

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.schemas import embedding as schemas
    from kg_api.schemas.documents import EmbeddingStatus
    from kg_api.schemas.spaces import SpaceInfo

group = make_group("The vectors of sources.")


def print_counts(found: EmbeddingStatus) -> None:
    names = ("total", "embedded", "missing", "stale", "refused")
    row = [found.ontology or "all ontologies", *(str(getattr(found, name)) for name in names)]
    console.print_table(["ontology", *names[:-1], "rejected"], [row])
    others = {"concepts": found.concepts, "relationships": found.edges, "images": found.images}
    for name, counts in others.items():
        if counts and counts.total:
            text = ", ".join(f"{getattr(counts, each)} {each}" for each in names)
            console.say(f"{name}: {text}".replace("refused", "rejected"))
    if found.concepts and found.concepts.deferred:
        console.say(
            f"{found.concepts.deferred} concepts of a single source are embedded by their first search"
        )
    if found.building:
        searchable = pluralize(found.searchable, "source")
        console.say(f"counts of a build. Until the build is complete, vector search finds {searchable}")
    if found.refused:
        console.say("see the reasons: kg admin source-embeddings rejected --ontology NAME")


@command(group, asks="embedding_status", show=print_counts)
def status(*, ontology: options.OnlyOntology = None) -> None:
    """Count the embedded, missing, stale and rejected sources.

    Example: kg admin source-embeddings status --ontology notes
    """


def print_configuration(found: schemas.EmbeddingConfiguration) -> None:
    config = found.config
    rows = [
        ("strategy", config.strategy),
        ("chunk size", f"{config.chunk_size} {config.unit}"),
        ("overlap", "-" if config.overlap is None else str(config.overlap)),
        ("parent size", "-" if config.parent_size is None else f"{config.parent_size} characters"),
        ("context", ": ".join(filter(None, (config.context, config.context_template)))),
        ("space", f"{config.space} ({pluralize(found.dimensions, 'dimension')})"),
        ("embed at ingestion", "on" if config.embed_on_ingest else "off"),
        (
            "sources",
            f"{found.total}: {found.embedded} embedded, {found.missing} missing, {found.stale} stale"
            + (f", {found.refused} rejected" if found.refused else ""),
        ),
    ]
    for name, each in (("active until then", found.answering), ("previous", found.previous)):
        if each is not None:
            chunks = f"{each.strategy} of {each.chunk_size} {each.unit}"
            rows.append((name, f"{chunks}, context {each.context}, space {each.space}"))
    if found.missing + found.stale:
        rows += console.build_cost_rows(found.regeneration)
    title = found.ontology if found.applied else f"{found.ontology} (dry run)"
    console.print_table(["setting", "value"], rows, title=title)
    console.note(*found.notes)


@command(group, show=print_configuration)
def config(
    kg: KgClient,
    *,
    ontology: options.Ontology,
    strategy: Annotated[Strategy | None, option("Chunking strategy to use.")] = None,
    chunk_size: Annotated[
        int | None, option("Maximum words of a chunk (hierarchical: characters). Default: from the strategy.")
    ] = None,
    overlap: Annotated[
        int | None, option("Words, characters, or paragraphs (paragraph_group) to repeat in the next chunk.")
    ] = None,
    parent_size: Annotated[
        int | None, option("Number of characters to show around a small chunk (hierarchical).")
    ] = None,
    context: Annotated[ContextMode | None, option("Context to add to a chunk before it is embedded.")] = None,
    context_template: Annotated[
        str | None, option("Line to add: {title}, {heading}, {date}, {author}. A part in [ ] is optional.")
    ] = None,
    space: Annotated[str | None, option("Embedding space to use. `kg admin spaces list` lists them.")] = None,
    embed_on_ingest: Annotated[
        bool | None, option("Embed new text automatically.", "--on-ingest/--no-on-ingest")
    ] = None,
    dry_run: options.DryRun = False,
    create: options.Create = False,
) -> schemas.EmbeddingConfiguration:
    """Show or, with options, change the embedding configuration, and report the stale sources.

    Omitted options keep their value. Another strategy starts with its own defaults. A missing ontology is
    created only with --create. Searches use the current vectors until a worker has rebuilt all of them.

    Example: kg admin source-embeddings config --ontology notes --strategy sentence --dry-run
    """
    chosen = options.select_given(locals(), "kg", "ontology", "dry_run", "create")
    return configure(
        kg.embedding_config, kg.set_embedding_config, ontology, chosen, dry_run=dry_run, create=create
    )


def describe_started(started: Any) -> None:
    """Print the job that embeds the pending sources."""
    if started.job_id is None:
        console.say("No source is pending.")
    else:
        due = pluralize(started.due, "source")
        console.say(f"{due} {are(started.due)} pending. Follow the job: kg jobs watch {started.job_id}")


@command(group, asks="embed_ontology", show=describe_started)
def generate(*, ontology: options.Ontology) -> None:
    """Embed missing and stale sources now.

    A worker embeds them automatically if embedding on ingestion is on.

    Example: kg admin source-embeddings generate --ontology notes && kg jobs watch
    """


print_reasons = Table(
    "sources", {"source": lambda each: f"{each.document} ¶{each.paragraph}", "reason": "reason"}
)


def print_rejected(found: schemas.RefusedSources) -> None:
    print_reasons(found)
    console.say(
        f"{pluralize(found.total, 'source')} {are(found.total)} rejected. "
        "To retry: kg admin source-embeddings generate"
    )


@command(group, asks="rejected", show=print_rejected)
def rejected(*, ontology: options.Ontology) -> None:
    """List the sources that the model rejected, with the reasons. Only full-text search finds them.

    Example: kg admin source-embeddings rejected --ontology notes
    """


group.command("refused", hidden=True)(rejected)  # its name until 0.2


# `kg admin spaces`

UNHEALTHY = 69
SpaceArgument = Annotated[str, argument("Name of the space. To see all spaces, use `kg admin spaces list`.")]

spaces_group = make_group("Embedding spaces: their models, and changing the model while people search.")


def _format_price(each: SpaceInfo) -> str:
    price = each.price_per_million_tokens
    return "price unknown" if price is None else f"${price:g} per 1M tokens" if price else "free"


def _takes(each: SpaceInfo) -> str:
    tokens = f"{each.max_tokens} tokens a text" if each.max_tokens else ""
    takes = ", ".join(filter(None, ["images" if each.modality == "image" else "", tokens]))
    batch = "" if each.batch_size is None else f"\n{each.batch_size} a batch"
    return f"{each.dimensions} dimensions\n{takes}{batch}\n{_format_price(each)}"


def _uses(each: SpaceInfo) -> str:
    names = [*each.ontologies, *(f"{name} (building)" for name in each.building)]
    names += [f"{name} (retiring)" for name in each.retiring]
    return "\n".join([*names, *(["new ones"] if each.for_new else [])]) or "-"


@command(
    spaces_group,
    "list",
    asks="embedding_spaces",
    show=Table(
        "spaces",
        {
            "space": lambda each: f"{each.slug}\n{each.state}",
            "model": lambda each: f"{each.provider}\n{each.model}",
            "dimensions, limits, price": _takes,
            "ontologies": _uses,
        },
    ),
)
def list_spaces() -> None:
    """List the embedding spaces with state, model, limits and ontologies.

    Example: kg admin spaces list
    """


FIXES = {
    "model": "check the provider, its key and the model: kg admin spaces health",
    "index": "wait until Neo4j has populated the index, or create it again: kg down, then kg up",
    "refused": "see the texts: kg admin source-embeddings rejected --ontology NAME, or activate with "
    "--accept-rejected",
    "vectors": "embed again: kg admin regenerate-embeddings --ontology NAME --force",
    "found": "wait until Neo4j has updated the index, and check again",
}
UNFINISHED = "wait until the build is complete: kg jobs watch"


def wait_until_built(client: KgClient, made: schemas.SpaceBuilding) -> None:
    """Wait until a space has the vectors of a build. Later jobs embed concepts and relationships."""
    from kg_api.schemas.operations import JOB_KINDS
    from kg_cli.jobs.report import BACKFILL_SECONDS, POLL_SECONDS, list_unfinished_jobs, wait_for_jobs

    wait_for_jobs(client, [each.job_id for each in made.builds if each.job_id])
    kinds = [kind for kind in JOB_KINDS if kind.endswith("_embedding")]
    quiet_since = time.monotonic()
    while made.builds and time.monotonic() - quiet_since < BACKFILL_SECONDS:
        found = client.check_space(made.slug).findings
        if all(each.ok or each.name in FIXES for each in found):
            return
        names = [each.ontology for each in made.builds]
        jobs = [
            job
            for name in names
            for kind in kinds
            for job in list_unfinished_jobs(client, kind=kind, ontology=name)
        ]
        if jobs:
            wait_for_jobs(client, jobs)
            quiet_since = time.monotonic()
        time.sleep(POLL_SECONDS)


print_created = message("created space {0.slug}: {0.provider} {0.model}, {0.dimensions} dimensions")


@spaces_group.command()
def create(
    slug: Annotated[str, argument("Name for the new space. You can use lower-case letters, digits, and _.")],
    *,
    provider: Annotated[Literal[Provider, ImageProvider], option("Provider of the embedding model.")],
    modality: Annotated[Modality, option("Content to embed: text, or pixels of images (image).")] = "text",
    model: Annotated[str | None, option("Name of the model. The default depends on the provider.")] = None,
    dimensions: Annotated[
        int | None,
        option("Number of dimensions. A model with shortened vectors allows fewer than its default."),
    ] = None,
    switch: Annotated[
        bool, option("Embed all ontologies, check the vectors, and activate the space.", "--switch")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Create an embedding space with its own index. kg probes the model once.

    To switch all ontologies to another model with one command, use --switch. Searches use the previous model
    until all documents are embedded.

    The API key and URL come from the environment of service and worker (OPENAI_API_KEY, ...).
    Models for images: histogram and onnx (offline), nomic, openai (docs/guides/images.md).

    Example: kg admin spaces create small --provider openai --model text-embedding-3-small --dimensions 512

    Example: kg admin spaces create e5 --provider local --model e5-small-v2 --switch

    Example: kg admin spaces create seen --modality image --provider histogram
    """
    with open_client() as client:
        space = client.add_embedding_space(
            slug, provider=provider, modality=modality, model=model, dimensions=dimensions
        )
        emit(space, print_created, as_json=as_json)
        if not switch:
            console.say(f"to embed documents in the background: kg admin spaces build {slug} --ontology NAME")
            return
        console.say(f"To continue after Ctrl-C: kg admin spaces build {slug} --watch, then activate {slug}")
        wait_until_built(client, client.build_space(slug))
        switched = client.activate_space(slug)
        if not as_json:
            print_switched(switched)


@spaces_group.command()
def build(
    slug: SpaceArgument,
    *,
    ontology: options.OnlyOntologies = None,
    activate: Annotated[bool, option("Activate the space when the build is complete.", "--activate")] = False,
    dry_run: options.DryRun = False,
    watch: options.Watch = False,
    as_json: options.Json = False,
) -> None:
    """Embed ontologies in a space in the background. Searches keep using the active space.

    New text is embedded in both spaces. Searches change only after you activate the space.

    Example: kg admin spaces build small --ontology notes --watch
    """

    def takes(each: schemas.Build) -> str:
        if not dry_run:
            return each.job_id or "-"
        cost = console.build_cost_rows(each.cost) if each.cost else [("", "-")]
        return "\n".join(f"{name}: {value}" if name else value for name, value in cost)

    def print_builds(made: schemas.SpaceBuilding) -> None:
        columns = {"ontology": "ontology", "active": "answering", "to embed": "due"}
        Table("builds", {**columns, "cost" if dry_run else "job": takes})(made)

    with open_client() as client:
        made = client.build_space(slug, ontologies=ontology, activate=activate, dry_run=dry_run)
        emit(made, print_builds, as_json=as_json)
        if watch and not dry_run:
            wait_until_built(client, made)
    if not (as_json or dry_run or activate):
        chosen = "".join(f" --ontology {shlex.quote(each)}" for each in ontology or ())
        then = f"kg admin spaces check {slug} && kg admin spaces activate {slug}{chosen}"
        console.say(f"when the build is complete: {then}")


def print_check(found: schemas.SpaceCheck) -> None:
    """Print the findings, and the fix of each failed check."""
    Table(
        "findings",
        {"check": "name", "result": lambda each: "ok" if each.ok else "failed", "detail": "detail"},
    )(found)
    failed = dict.fromkeys(each.name for each in found.findings if not each.ok)
    for name in failed:
        console.say(f"-> {name}: {FIXES.get(name, UNFINISHED)}")
    if failed:
        console.say(f"{found.slug} cannot be activated until all checks are ok.")
    else:
        console.say(
            f"All checks are ok. To use {found.slug} for searches: kg admin spaces activate {found.slug}"
        )


@command(spaces_group, asks="check_space", show=print_check, exit_code=lambda found: int(not found.ok))
def check(
    slug: SpaceArgument,
    *,
    ontology: Annotated[
        str | None, option("Ontology to check. Default: all built ontologies.", "--ontology", "-o")
    ] = None,
) -> None:
    """Check if a space is ready: index, model, completeness and every vector. Exits with 1 if not.

    Example: kg admin spaces check small
    """


@command(
    spaces_group,
    asks="embedding_health",
    show=Table(
        "spaces", {"space": "slug", "status": "status", "latency (ms)": "latency_ms", "error": "error"}
    ),
    exit_code=lambda found: 0 if found.status == "ok" else UNHEALTHY,
)
def health() -> None:
    """Check if the model of each space responds. Exits with 69 if one fails.

    Example: kg admin spaces health
    """


def print_switched(found: schemas.SpaceSwitched) -> None:
    if found.ontologies:
        Table("ontologies", {name: name for name in ("ontology", "before", "now")})(found)
    else:
        console.say("no ontology was switched")
    console.say(f"switched in {found.seconds:.2f} s. New ontologies use {found.space_of_new}")


@command(spaces_group, asks="activate_space", show=print_switched)
def activate(
    slug: SpaceArgument,
    *,
    ontologies: options.OnlyOntologies = None,
    accept_rejected: Annotated[
        bool, option("Activate even if the model rejected texts.", "--accept-rejected", "--accept-refused")
    ] = False,
) -> None:
    """Check an embedding space and activate it for searches.

    The previous space is kept for rollback. Without --ontology, new ontologies also use the space.

    Example: kg admin spaces activate small
    """


@command(spaces_group, asks="rollback_space", show=print_switched)
def rollback(slug: SpaceArgument, *, ontologies: options.OnlyOntologies = None) -> None:
    """Roll back to the previously active space, and cancel the build of this space.

    Example: kg admin spaces rollback small
    """


@command(spaces_group, show=message("the space {0.slug} is being removed: job {0.job_id}"))
def drop(
    kg: KgClient,
    slug: SpaceArgument,
    *,
    ontology: Annotated[
        str | None, option("Only drop the unused vectors of this ontology.", "--ontology", "-o")
    ] = None,
    yes: options.Yes = False,
) -> Any:
    """Drop a space with its index and vectors. Searches are not affected.

    A later rollback to the space is impossible.

    Example: kg admin spaces drop small --yes
    """
    if not yes:
        what = f"the space {slug}" if ontology is None else f"the unused vectors of {ontology} in {slug}"
        options.confirm(f"Remove {what} for good?")
    return kg.drop_space(slug, ontology)
