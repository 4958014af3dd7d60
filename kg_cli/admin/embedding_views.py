"""How text is embedded, as a person reads it."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.schemas.documents import ConceptCounts, EmbeddingStatus, VectorCounts
from kg_api.schemas.embedding import (
    EmbeddingConfiguration,
    EmbeddingStarted,
    RefusedSource,
    RefusedSources,
    SpaceBuilding,
    SpaceCheck,
    SpaceDropped,
    SpaceSwitched,
)
from kg_api.schemas.spaces import EmbeddingHealth, SpaceInfo, SpaceList
from kg_api.wording import are, pluralize
from kg_cli.terminal.console import cost_rows, note, print_table, say


def print_counts(found: EmbeddingStatus) -> None:
    counts = [found.total, found.embedded, found.missing, found.stale, found.refused]
    name = found.ontology or "all ontologies"
    columns = ["ontology", "total", "embedded", "missing", "stale", "refused"]
    print_table(columns, [[name, *map(str, counts)]])
    if found.concepts and found.concepts.total:
        rest = found.concepts.deferred
        later = f", {rest} of one source each to be embedded when asked for" if rest else ""
        say(f"concepts: {_counted(found.concepts)}{later}")
    if found.edges and found.edges.total:
        say(f"relationships: {_counted(found.edges)}")
    if found.images and found.images.total:
        say(f"pictures: {_counted(found.images)}")
    if found.building:
        say(
            "what is counted here is being built; until it is complete, searches find "
            f"{pluralize(found.searchable, 'source')}"
        )
    if found.refused:
        say("why sources are refused: kg admin source-embeddings refused --ontology NAME")


def print_configuration(found: EmbeddingConfiguration) -> None:
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
            + (f", {found.refused} refused" if found.refused else ""),
        ),
    ]
    # what answers until the configuration is complete, and what one can go back to
    for name, each in (("answers until then", found.answering), ("before", found.previous)):
        if each is not None:
            chunks = f"{each.strategy} of {each.chunk_size} {each.unit}"
            rows.append((name, f"{chunks}, context {each.context}, space {each.space}"))
    due = found.missing + found.stale
    title = found.ontology if found.applied else f"{found.ontology} (as it would be)"
    if due:
        rows += cost_rows(found.regeneration)
    print_table(["setting", "value"], rows, title=title)
    note(*found.notes)


def print_started(started: EmbeddingStarted) -> None:
    if started.job_id is None:
        say("Nothing is missing or stale.")
    else:
        say(
            f"{pluralize(started.due, 'source')} {are(started.due)} to be embedded; "
            f"follow it with: kg jobs watch {started.job_id}"
        )


def print_refused(found: RefusedSources) -> None:
    print_reasons(found.sources)
    say(
        f"{pluralize(found.total, 'source')} {are(found.total)} refused; "
        "`kg admin source-embeddings generate` tries them again"
    )


def print_reasons(sources: Sequence[RefusedSource]) -> None:
    rows = [[f"{each.document}, paragraph {each.paragraph}", each.reason] for each in sources]
    if rows:
        print_table(["source", "reason"], rows)


def _counted(counts: ConceptCounts | VectorCounts) -> str:
    names = ("total", "embedded", "missing", "stale", "refused")
    return ", ".join(f"{getattr(counts, name)} {name}" for name in names)


# Embedding spaces as a person reads them.


def print_spaces(found: SpaceList) -> None:
    rows: list[list[str]] = []
    for each in found.spaces:
        price = each.price_per_million_tokens
        paid = "price not known" if price is None else f"${price:g} per 1M tokens" if price else "free"
        if each.modality == "image":
            words = f"pictures, words of {each.max_tokens} tokens" if each.max_tokens else "pictures"
            takes = f"{words}\n{each.batch_size} pictures at once"
        else:
            takes = f"{each.max_tokens} tokens a text\n{each.batch_size} texts at once"
        # whom it answers, for whom it is built, and who can go back to it
        uses = [
            *each.ontologies,
            *(f"{name} (building)" for name in each.building),
            *(f"{name} (before)" for name in each.retiring),
            *(["(new ones)"] if each.for_new else []),
        ]
        about = f"{each.dimensions} dimensions\n{takes}\n{paid}"
        model = f"{each.provider}\n{each.model}"
        rows.append([f"{each.slug}\n{each.state}", model, about, "\n".join(uses) or "-"])
    print_table(["space", "model", "what it takes and gives", "ontologies"], rows)


def print_created(made: SpaceInfo) -> None:
    say(f"the space {made.slug} is there: {made.provider} {made.model}, {made.dimensions} dimensions")
    say(f"change to it while people search: kg admin spaces build {made.slug} --ontology NAME")


def print_health(found: EmbeddingHealth) -> None:
    rows: list[list[str]] = []
    for each in found.spaces:
        latency = "-" if each.latency_ms is None else f"{each.latency_ms:.0f} ms"
        rows.append([each.slug, each.status, latency, each.error or ""])
    print_table(["space", "status", "latency", "error"], rows)
    note(*found.notes)


def print_builds(made: SpaceBuilding, *, dry_run: bool) -> None:
    rows: list[list[str]] = []
    for each in made.builds:
        told = each.job_id or "-"
        if dry_run:
            cost = cost_rows(each.cost) if each.cost else [("", "-")]
            told = "\n".join(f"{name}: {value}" if name else value for name, value in cost)
        rows.append([each.ontology, each.answering, str(each.due), told])
    print_table(["ontology", "answers meanwhile", "to embed", "takes" if dry_run else "job"], rows)
    note(*made.notes)


def print_check(found: SpaceCheck) -> None:
    rows = [[each.name, "ok" if each.ok else "NOT OK", each.detail] for each in found.findings]
    print_table(["check", "result", "detail"], rows)


def print_switched(switched: SpaceSwitched) -> None:
    print_table(
        ["ontology", "answered by", "now by"],
        [[each.ontology, each.before, each.now] for each in switched.ontologies],
    )
    note(*switched.notes)
    say(f"switched in {switched.seconds:.2f} s; new ontologies use {switched.space_of_new}")


def print_dropped(dropped: SpaceDropped, *, what: str) -> None:
    say(f"{what} is being removed: job {dropped.job_id}")
    note(*dropped.notes)
