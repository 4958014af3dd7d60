"""How text is embedded, as a person reads it."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.models.embedding.configuration import (
    EmbeddingConfig,
    EmbeddingConfiguration,
    EmbeddingStarted,
    RefusedSource,
    RefusedSources,
)
from kg_api.models.library.documents import ConceptCounts, EdgeCounts, EmbeddingStatus, ImageCounts
from kg_api.wording.plural import are, pluralize
from kg_cli.terminal.console import note, print_table, say
from kg_cli.terminal.costs import cost_rows


def print_counts(found: EmbeddingStatus) -> None:
    """Print how many sources and concepts have their vector."""
    counts = [found.total, found.embedded, found.missing, found.stale, found.refused]
    name = found.ontology or "all ontologies"
    columns = ["ontology", "total", "embedded", "missing", "stale", "refused"]
    print_table(columns, [[name, *map(str, counts)]])
    if found.concepts and found.concepts.total:
        say(f"concepts: {_of_concepts(found.concepts)}")
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
    """Print a configuration, where its vectors stand and what making them takes."""
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
        *_others(found),
    ]
    due = found.missing + found.stale
    title = found.ontology if found.applied else f"{found.ontology} (as it would be)"
    print_table(["setting", "value"], [*rows, *(cost_rows(found.regeneration) if due else [])], title=title)
    note(*found.notes)


def print_started(started: EmbeddingStarted) -> None:
    """Say what is embedded now."""
    if started.job_id is None:
        say("Nothing is missing or stale.")
    else:
        say(
            f"{pluralize(started.due, 'source')} {are(started.due)} to be embedded; "
            f"follow it with: kg jobs watch {started.job_id}"
        )


def print_refused(found: RefusedSources) -> None:
    """Print what the model rejected, and why."""
    print_reasons(found.sources)
    say(
        f"{pluralize(found.total, 'source')} {are(found.total)} refused; "
        "`kg admin source-embeddings generate` tries them again"
    )


def print_reasons(sources: Sequence[RefusedSource]) -> None:
    """Print why each source was set aside."""
    rows = [[f"{each.document}, paragraph {each.paragraph}", each.reason] for each in sources]
    if rows:
        print_table(["source", "reason"], rows)


def _of_concepts(counts: ConceptCounts) -> str:
    later = f", {counts.deferred} of one source each to be embedded when asked for" if counts.deferred else ""
    return _counted(counts) + later


def _counted(counts: ConceptCounts | EdgeCounts | ImageCounts) -> str:
    names = ("total", "embedded", "missing", "stale", "refused")
    return ", ".join(f"{getattr(counts, name)} {name}" for name in names)


def _others(found: EmbeddingConfiguration) -> list[tuple[str, str]]:
    """What answers until the configuration is complete, and what one can go back to."""
    told = {"answers until then": found.answering, "before": found.previous}
    return [(name, _layout(config)) for name, config in told.items() if config is not None]


def _layout(config: EmbeddingConfig) -> str:
    chunks = f"{config.strategy} of {config.chunk_size} {config.unit}"
    return f"{chunks}, context {config.context}, space {config.space}"
