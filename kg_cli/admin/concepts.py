"""`kg admin concepts` and `kg admin relationship-types`: extraction, its cost, and merges."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from kg_api.schemas.vocabulary import ALIKE, MAX_PER_SOURCE, ExtractorName, Stance
from kg_api.wording import are, pluralize
from kg_cli.admin.embedding import describe_started, print_reasons
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import Table, command, configure, get_cell, make_group, message, note_all
from kg_cli.terminal.console import describe_price
from kg_cli.terminal.options import argument, declare_limit, option

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.schemas import concepts as schemas
    from kg_api.schemas.embedding import RefusedSources

MergeArgument = Annotated[str, argument("Id of the merge to undo. To find it, use `merges`.")]

group = make_group("The concepts of sources.")


def print_status(found: schemas.ExtractionStatus) -> None:
    used, own = found.used, found.config
    usual = " (the service's setting)"
    counted = f"{found.total}: {found.extracted} read, {found.due} pending"
    counted += f", {found.stale} stale" if found.stale else ""
    counted += f", {found.refused} rejected" if found.refused else ""
    relations = pluralize(found.relations, "relationship")
    rows = [
        ("extractor", f"{used.extractor}{'' if own.extractor is not None else usual}"),
        ("concepts per source", f"at most {used.per_source}{'' if own.per_source is not None else usual}"),
        *([("model", f"{found.model} (fingerprint {found.fingerprint})")] if found.model else []),
        ("sources", counted),
        ("found", f"{pluralize(found.concepts, 'concept')}, {pluralize(found.quotes, 'quote')}, {relations}"),
    ]
    if found.unverified_quotes or found.unverified_concepts:
        quotes = f"{found.unverified_quotes} quotes that are not in their sources"
        rows.append(("unverified", f"{quotes}, {found.unverified_concepts} concepts without a quote"))
    if used.budget is not None:
        rows.append(("budget", f"${used.budget:g}"))
    if used.extractor == "llm" or found.spent:
        bound = "no limit" if used.budget is None else f"of ${used.budget:g}"
        rows.append(("spent", f"${found.spent:.4f}, {bound}"))
    if cost := found.cost:
        rows.append(("to read", pluralize(cost.sources, "source")))
        if cost.requests:
            tokens = f"about {pluralize(cost.tokens_read, 'token')} read, {cost.tokens_written} written"
            rows.append(("language model", f"about {pluralize(cost.requests, 'request')}: {tokens}"))
        rows += [("price", describe_price(cost.price)), *(("", each) for each in cost.notes)]
    if found.stale_cost is not None:
        price = describe_price(found.stale_cost.price)
        rows.append(("stale", f"{pluralize(found.stale, 'source')} to read again with --stale: {price}"))
    title = found.ontology if found.applied else f"{found.ontology} (dry run)"
    console.print_table(["setting", "value"], rows, title=title)
    if found.problem:
        console.say(f"problem: {found.problem}")
    if found.last_error:
        fix = f"after the fix: kg admin concepts extract --ontology {found.ontology!r}"
        console.say(f"last job: {found.last_error}; {fix}")
    console.note(*found.notes)


def print_progress(found: schemas.ExtractionStatus, kg: KgClient) -> None:
    from kg_cli.concepts.commands import describe_pending_concepts

    print_status(found)
    if pending := describe_pending_concepts(kg, found.ontology, found):
        console.say(pending)


@command(group, asks="extraction_config", show=print_progress)
def status(*, ontology: options.Ontology) -> None:
    """Count the read and pending sources, and the concepts.

    Example: kg admin concepts status --ontology notes
    """


@command(group, show=print_status)
def config(
    kg: KgClient,
    *,
    ontology: options.Ontology,
    extractor: Annotated[
        ExtractorName | None, option("Extractor to use: llm (also finds relationships), keyphrase, or none.")
    ] = None,
    per_source: Annotated[
        int | None, declare_limit("concepts per source", MAX_PER_SOURCE, "--per-source")
    ] = None,
    budget: Annotated[
        float | None, option("Total amount to spend on the language model, in US dollars.", min=0)
    ] = None,
    dry_run: options.DryRun = False,
    create: options.Create = False,
) -> schemas.ExtractionStatus:
    """Show or, with options, change the extraction configuration. A change starts the work.

    Omitted options keep their value. A missing ontology is created only with --create. A job that has spent
    its budget continues after you raise it. With --dry-run, kg estimates requests, tokens and cost, calls no
    model, and changes nothing.

    Example: kg admin concepts config --ontology notes --extractor llm --budget 2
    """
    chosen = options.select_given(locals(), "kg", "ontology", "dry_run", "create")
    read = partial(kg.extraction_config, with_cost=dry_run)
    return configure(read, kg.set_extraction_config, ontology, chosen, dry_run=dry_run, create=create)


@command(group, asks="extract_concepts", show=describe_started)
def extract(
    *,
    ontology: options.Ontology,
    stale: Annotated[
        bool, option("Also re-read sources of another model or prompt. This can cost money.", "--stale")
    ] = False,
) -> None:
    """Extract concepts from pending sources, and retry failed sources.

    Extraction starts automatically after ingestion, unless the extractor is none. Sources read by another
    language model are re-read only with --stale. `config --dry-run` shows the cost.

    Example: kg admin concepts extract --ontology notes && kg jobs watch
    """


def print_rejected(found: RefusedSources) -> None:
    print_reasons(found)
    again = f". To retry: kg admin concepts extract --ontology {found.ontology!r}" if found.total else ""
    console.say(f"rejected: {pluralize(found.total, 'source')}{again}")


@command(group, asks="extraction_rejected", show=print_rejected)
def rejected(*, ontology: options.Ontology) -> None:
    """List the sources from which extraction failed, with the reasons.

    Example: kg admin concepts rejected --ontology notes
    """


group.command("refused", hidden=True)(rejected)  # its name until 0.2


def _describe_reason(each: schemas.ConceptMerge) -> str:
    similarity = None if each.similarity is None else f"{each.similarity:.2f}"
    return ", ".join(filter(None, (each.reason, similarity)))


def _format_time(each: schemas.ConceptMerge) -> str:
    at = f"{each.at:%Y-%m-%d %H:%M}"
    if each.undone_at is None:
        return at if each.undoable else f"{at}\ncannot be undone"
    by = f" by {each.undone_by}" if each.undone_by else ""
    return f"{at}\nundone{by}\n{each.undone_at:%Y-%m-%d %H:%M}"


print_merges = Table(
    "merges",
    {
        "merged": lambda each: f"{each.merged} → {each.into}\n{each.merge_id}",
        "why": _describe_reason,
        "sources": "sources",
        "when": _format_time,
    },
    noun=("merge",),
    empty="No concepts were merged.",
)


@command(group, asks="concept_merges", show=print_merges)
def merges(
    *,
    ontology: options.Ontology,
    concept_id: Annotated[str | None, option("Only show merges into this concept (id).", "--concept")] = None,
    offset: options.Offset = 0,
    limit: options.Page = 50,
) -> None:
    """List merged concepts with the reasons, the latest first.

    Example: kg admin concepts merges --ontology notes
    """


@command(
    group,
    asks="undo_concept_merge",
    show=message(
        "{0.merged!r} and {0.into!r} are two separate concepts again. kg extracts newer sources again."
    ),
)
def undo(merge_id: MergeArgument, *, ontology: options.Ontology, by: options.By = None) -> None:
    """Separate two merged concepts permanently. Each gets its former sources back.

    Example: kg admin concepts undo 4f1c0e... --ontology notes
    """


# `kg admin relationship-types`

relationships_group = make_group("List, merge, and separate relationship types.")

print_types = Table(
    "types",
    {"relationships": "relations", "type": "name", "stance": "stance", "merged into it": "also"},
    noun=("type",),
    empty="No relationships. To find some: kg admin concepts config --ontology NAME --extractor llm",
)


@command(relationships_group, "list", asks="relationship_types", show=print_types)
def list_types(*, ontology: options.Ontology, offset: options.Offset = 0, limit: options.Page = 50) -> None:
    """List the relationship types of an ontology, the most frequent first.

    Example: kg admin relationship-types list --ontology notes
    """


def print_proposals(answer: schemas.TypeProposals) -> None:
    note_all(answer)
    rows: list[list[str]] = []
    for each in answer.proposals:
        rows.append([each.into, str(each.relations), "", "", *(each.examples[:1] or [""])])
        for like in each.merged:
            figures = (str(like.relations), f"{like.similarity:.2f}", str(like.shared))
            rows.append([f"  = {like.name}", *figures, *(like.examples[:1] or [""])])
    if not rows:
        console.say(f"No two of {pluralize(answer.compared, 'type')} are similar enough.")
        return
    console.print_table(["type", "relationships", "similarity", "same pairs", "example"], rows)
    merging = f"kg admin relationship-types merge INTO TYPE... --ontology {answer.ontology!r}"
    console.say(f"To merge types of the same meaning: {merging}")


@command(relationships_group, "preview", asks="propose_relationship_types", show=print_proposals)
def preview_type_merges(
    *,
    ontology: options.Ontology,
    min_similarity: Annotated[float, option("Minimum cosine similarity of two names.", min=0, max=1)] = ALIKE,
    limit: options.Limit = 20,
) -> None:
    """Show types that may have the same meaning, with examples. Nothing changes.

    Example: kg admin relationship-types preview --ontology notes
    """


def print_relationship_merge(answer: schemas.TypeMerge) -> None:
    note_all(answer)
    names, count = ", ".join(map(repr, answer.merged)), len(answer.merged)
    into, what = repr(answer.into), pluralize(answer.relations, "relationship")
    if answer.merge_id is None:
        console.say(f"{names} would be read as {into}: {what}. Nothing was changed: this is a dry run.")
    elif answer.undone_at is not None:
        console.say(f"{names} {are(count)} separate from {into} again.")
    else:
        undo_it = f"kg admin relationship-types undo {answer.merge_id} --ontology {answer.ontology!r}"
        console.say(f"{names} {are(count)} read as {into}: {what}. Undo it with: {undo_it}")


@command(relationships_group, asks="merge_relationship_types", show=print_relationship_merge)
def merge(
    into: Annotated[str, argument("Type to keep.")],
    merged: Annotated[list[str], argument("Types to merge into it.")],
    *,
    ontology: options.Ontology,
    by: options.By = None,
    dry_run: options.DryRun = False,
) -> None:
    """Merge types into another type. The sources keep their wording, and you can undo the merge.

    Example: kg admin relationship-types merge requires needs "depends on" --ontology notes
    """


print_relationship_merges = Table(
    "merges",
    {
        "merged": lambda each: f"{', '.join(each.merged)} → {each.into}\n{each.merge_id}",
        "by": lambda each: "\n".join(filter(None, (each.by, f"{each.at:%Y-%m-%d %H:%M}"))),
        "undone": lambda each: f"{each.undone_by or ''}\n{get_cell('undone_at', each)}",
    },
    noun=("merge",),
    empty="No relationship types were merged.",
)


@command(relationships_group, "merges", asks="relationship_type_merges", show=print_relationship_merges)
def list_type_merges(
    *, ontology: options.Ontology, offset: options.Offset = 0, limit: options.Page = 50
) -> None:
    """List the merges with author and time, the latest first.

    Example: kg admin relationship-types merges --ontology notes
    """


@command(relationships_group, "undo", asks="undo_type_merge", show=print_relationship_merge)
def undo_type_merge(merge_id: MergeArgument, *, ontology: options.Ontology, by: options.By = None) -> None:
    """Separate the types of a merge again.

    Example: kg admin relationship-types undo 4f1c0e... --ontology notes
    """


@command(relationships_group, show=message("{0.name}: {0.stance}"))
def stance(
    kg: KgClient,
    kind: Annotated[str, argument("Relationship type to change.", metavar="TYPE")],
    value: Annotated[
        Stance | None,
        argument("Stance to set. Default: derived from the name of the type.", metavar="STANCE"),
    ] = None,
    *,
    ontology: options.Ontology,
) -> Any:
    """Set whether a type supports or contradicts its object, for the grounding of concepts.

    Example: kg admin relationship-types stance "casts doubt on" contradicts --ontology notes
    """
    return kg.set_relationship_stance(ontology, kind, value)
