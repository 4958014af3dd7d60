"""`kg concept`: concepts of documents, with the quotes as evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from kg_api.schemas.vocabulary import MAX_EVIDENCE, MAX_HOPS, MAX_PASSAGES, MAX_PATHS, MAX_RELATED
from kg_api.wording import are, pluralize
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import Column, Table, command, make_group, note_all, short_id
from kg_cli.terminal.console import Part
from kg_cli.terminal.options import argument, declare_limit, option, repeated

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.schemas import concepts as schemas
ConceptArgument = Annotated[
    str, argument("Id or name of the concept, or a phrase to search for.", callback=options.require_words)
]
HopsOption = Annotated[int, option("Maximum number of hops to follow.", min=1, max=MAX_HOPS)]
group = make_group("Find concepts and their quotes.")


def describe_pending_concepts(
    client: KgClient, ontology: str, found: schemas.ExtractionStatus | None = None
) -> str | None:
    """Return a line about pending concepts, or None."""
    from kg_api.errors import KgError

    try:
        found = found or client.extraction_config(ontology)
        counts = client.embedding_status(ontology).concepts
    except KgError:  # the command itself has succeeded
        return None
    reads = found.due if found.problem is None and found.last_error is None else 0
    embeds = counts.missing + counts.stale if counts else 0
    parts = [f"Concepts of {pluralize(reads, 'passage')} are still being extracted."] if reads else []
    parts += [f"{pluralize(embeds, 'concept')} {are(embeds)} still being embedded."] if embeds else []
    return " ".join([*parts, "Search works now."]) if parts else None


MAX_CANDIDATES = 20
ID = re.compile("[0-9a-f]{32}")
DIGITS = re.compile("[0-9a-f]{8,}")  # prefix of an id, which the service completes


def take_concept(client: KgClient, text: str, ontology: str | None) -> str:
    """Return the id, or an id prefix, of the concept for a phrase. Report a doubtful choice."""
    from kg_api.errors import NotFound
    from kg_api.schemas.concepts import describe_choice, find_meant, format_nearest_labels

    if ID.fullmatch(text):
        return text
    found = client.search_concepts(text, ontology=ontology, limit=MAX_CANDIDATES)
    best = find_meant(found.concepts)
    if (best is None or best.fits == "meaning") and DIGITS.fullmatch(text):
        return text
    if best is None:
        note_all(found)
        nearest = format_nearest_labels(found.concepts)
        raise NotFound(
            f"no concept matches {text!r}{nearest}. `kg concepts list -o ONTOLOGY` lists the concepts"
        )
    console.note(describe_choice(text, best, found.concepts, "--ontology"))
    return best.concept_id


def _format_concept(each: schemas.Concept) -> list[Part]:
    also = f"  also {', '.join(each.search_terms)}" if each.search_terms else ""
    where = f"  ({each.ontology}, {pluralize(each.sources, 'source')})"
    unverified = "" if each.verified else "  unverified: no quote proves it"
    about = f"\n{each.description}" if each.description else ""
    return [
        (each.label, "bold"),
        (also, "cyan"),
        where,
        (unverified, "yellow"),
        about,
        (f"\n{each.concept_id}", "dim"),
    ]


def _format_statement(subject: str, target: str, kind: str, about: str) -> list[Part]:
    return [(subject, "bold"), f" {kind} ", (target, "bold"), (f"  {about}", "dim")]


def _format_evidence(each: schemas.RelationshipEvidence) -> list[Part]:
    place = f"{each.source.document} ¶{each.source.paragraph}"
    span = "" if each.start is None else f" {each.start}-{each.end}"
    statement = f"“{each.quote}”" if each.quote else f"{each.statement} (no quote proves it)"
    return [f"  {statement}\n", (f"  {place}{span}  {each.source.source_id}", "dim")]


def _step(step: schemas.PathStep, names: Mapping[str, str]) -> list[Part]:
    ends = (names.get(step.subject, step.subject), names.get(step.object, step.object))
    quoted = step.sources[0] if step.sources else ""
    more = f" and {len(step.sources) - 1} more" if len(step.sources) > 1 else ""
    return _format_statement(*ends, step.type, f"{quoted}{more}")


def _format_grounding(found: schemas.Grounding) -> list[Part]:
    figures = f"belief {found.belief:.2f}, disbelief {found.disbelief:.2f}, unknown {found.uncertainty:.2f}"
    parts: list[Part] = [("grounding ", "bold"), f"{found.strength:.2f}", (f"  {figures}", "dim")]
    for name, side in (("for", found.supporting_evidence), ("against", found.contradicting_evidence)):
        for each in side:
            parts += [(f"\n  {name}: {each.statement}\n", "bold"), *_format_evidence(each)]
    return parts


def _print_related(label: str, related: Sequence[schemas.RelatedConcept]) -> None:
    names = {each.concept.concept_id: each.concept.label for each in related}
    for each in related:
        near = label if each.via is None else names.get(each.via, each.via)
        ends = (near, each.concept.label) if each.outgoing else (each.concept.label, near)
        far = f", {each.hops} hops" if each.hops > 1 else ""
        console.block(_format_statement(*ends, each.type, f"{pluralize(len(each.sources), 'source')}{far}"))


print_hits = Table(
    "concepts",
    {"similarity": "similarity", "concept": _format_concept},
    empty="No concept was found.",
    hint="See the quotes of one: kg concepts show ID",
)


@command(group, show=print_hits)
def search(
    kg: KgClient, text: options.Query, *, ontology: options.OnlyOntology = None, limit: options.Limit = 10
) -> Any:
    """Find concepts by vector search, full-text search and name.

    Example: kg concepts search "delayed retries" --ontology notes
    """
    return kg.search_concepts(text, ontology=ontology, limit=limit)


def print_concept(answer: schemas.ConceptDetails) -> None:
    console.block(_format_concept(answer))
    for each in answer.evidence:
        place = f"{each.source.document} ¶{each.source.paragraph} {each.start}-{each.end}"
        doubt = "" if each.score == 1 else f", likeness {each.score:.2f}"
        console.block([f"“{each.quote}”", (f"\n  {place}{doubt}  {each.source.source_id}", "dim")])
    for each in answer.unverified:
        place = f"not in {each.document} ¶{each.paragraph}, or only the name  {each.source_id}"
        console.block([(f"“{each.quote}”", "dim"), ("\n  unverified: ", "yellow"), (place, "dim")])
    if answer.grounding:
        console.block(_format_grounding(answer.grounding))
    _print_related(answer.label, answer.related)
    unverified = f", {answer.more_unverified} unverified" if answer.more_unverified else ""
    console.say(
        f"{pluralize(answer.sources, 'source')}. Not shown: "
        f"{pluralize(answer.more_evidence, 'quote')}, {answer.more_related} related{unverified}. "
        "Read the passages: kg concepts context ID"
    )


@command(group, show=print_concept)
def show(
    kg: KgClient,
    concept: ConceptArgument,
    *,
    ontology: options.OnlyOntology = None,
    quotes: Annotated[int, declare_limit("quotes and related concepts", MAX_EVIDENCE, "--quotes", "-q")] = 10,
) -> schemas.ConceptDetails:
    """Show a concept: its description, its quotes with their places, and its related concepts.

    Example: kg concepts show "lease" --ontology notes
    """
    return kg.concept(take_concept(kg, concept, ontology), limit=quotes)


def print_related(answer: schemas.RelatedConcepts) -> None:
    note_all(answer)
    if not answer.related:
        console.say(f"No concept is known to be related to {answer.concept.label}.")
        return
    _print_related(answer.concept.label, answer.related)
    more = f"; {answer.more_related} more" if answer.more_related else ""
    console.say(f"{len(answer.related)} related within {pluralize(answer.hops, 'hop')}{more}.")


@command(group, show=print_related)
def related(
    kg: KgClient,
    concept: ConceptArgument,
    *,
    ontology: options.OnlyOntology = None,
    hops: HopsOption = 1,
    limit: Annotated[int, declare_limit("concepts to return", MAX_RELATED)] = 20,
) -> schemas.RelatedConcepts:
    """Show related concepts, with the relationships as the texts state them.

    Example: kg concepts related "lease" --hops 2
    """
    return kg.related_concepts(take_concept(kg, concept, ontology), hops=hops, limit=limit)


def print_relationships(answer: schemas.RelationshipHits) -> None:
    note_all(answer)
    if not answer.relationships:
        console.say("No relationship was found.")
    for hit in answer.relationships:
        about = f"{hit.similarity:.2f}  {hit.ontology}, {pluralize(hit.sources, 'source')}"
        console.block(_format_statement(hit.subject.label, hit.object.label, hit.type, about))
        for each in hit.evidence:
            console.block(_format_evidence(each))


@command(group, show=print_relationships)
def relations(
    kg: KgClient,
    text: options.Query,
    *,
    ontology: options.OnlyOntology = None,
    kinds: Annotated[list[str] | None, repeated("Only show this relationship type.", "--type", "-t")] = None,
    limit: options.Limit = 10,
    min_similarity: options.Similarity = None,
) -> schemas.RelationshipHits:
    """Find relationships by vector search, with the quotes that state them.

    Example: kg concepts relations "what does a lease need" --type requires
    """
    ontologies = [ontology] if ontology else None
    return kg.search_relationships(
        text, ontologies=ontologies, types=kinds or None, limit=limit, min_similarity=min_similarity
    )


def print_paths(answer: schemas.ConceptPaths) -> None:
    note_all(answer)
    if answer.start.concept_id == answer.end.concept_id:
        return
    between = f"from {answer.start.label} to {answer.end.label}"
    if not answer.paths:
        console.say(f"No path {between} within {pluralize(answer.hops, 'hop')}.")
        return
    for number, each in enumerate(answer.paths, start=1):
        names = {concept.concept_id: concept.label for concept in each.concepts}
        for at, step in enumerate(each.steps):
            console.block([("   " if at else f"{number}. ", "bold"), *_step(step, names)])
    console.say(f"{pluralize(len(answer.paths), 'path')} {between}. Read a source: kg show ID")


@command(group, asks="concept_paths", show=print_paths)
def path(
    start: ConceptArgument,
    end: ConceptArgument,
    *,
    ontology: options.OnlyOntology = None,
    hops: HopsOption = MAX_HOPS,
    limit: Annotated[int, declare_limit("paths to return", MAX_PATHS)] = 5,
) -> None:
    """Find the shortest paths between two concepts, through relationships or shared sources.

    Example: kg concepts path "heartbeat" "retry" --hops 3
    """


def print_passages(answer: schemas.ConceptContext) -> None:
    for passage in answer.passages:
        first = passage.sources[0]
        console.block(" > ".join([f"{first.ontology} / {first.document}", *first.heading]), "bold")
        lines, proved = list[Part](), {each.source.source_id for each in passage.quotes}
        for place in passage.sources:
            carries = place.source_id in passage.carried_by
            is_proved = not carries or place.source_id in proved
            doubt = "" if is_proved else "  unverified: no quote of it proves the concept"
            lines += [(f"¶{place.paragraph} {place.source_id}", "dim"), (f"{doubt}\n", "yellow")]
            lines.append((place.full_text.strip() + "\n", "" if carries else "dim"))
        console.block(lines)
    more = f"; {pluralize(answer.more_passages, 'source')} more" if answer.more_passages else ""
    link_count = sum(len(passage.carried_by) for passage in answer.passages)
    console.say(f"{answer.concept.label} in {pluralize(link_count, 'source')}{more}.")


@command(group, show=print_passages)
def context(
    kg: KgClient,
    concept: ConceptArgument,
    *,
    ontology: options.OnlyOntology = None,
    window: options.Neighbours = 2,
    limit: Annotated[int, declare_limit("sources to show", MAX_PASSAGES)] = 5,
) -> schemas.ConceptContext:
    """Show the sources in which a concept appears, with their neighbours.

    Example: kg concepts context "lease" --window 1
    """
    return kg.get_concept_context(take_concept(kg, concept, ontology), window_size=window, limit=limit)


def print_concepts(page: schemas.ConceptList) -> None:
    about = {"description": "description"} if any(each.description for each in page.concepts) else {}
    columns: dict[str, Column] = {
        "concept": lambda each: each.label if each.verified else f"{each.label} (unverified)",
        "sources": "sources",
        "other names": "search_terms",
        **about,
        "id": short_id("concept_id"),
    }
    empty = "No concepts. Show the extraction: kg admin concepts status"
    Table("concepts", columns, noun=("concept",), empty=empty)(page)


@command(group, "list", asks="concepts", show=print_concepts)
def list_concepts(
    *, ontology: options.Ontology, offset: options.Offset = 0, limit: options.Page = 50
) -> None:
    """List the concepts of an ontology by number of sources, the highest first.

    Example: kg concepts list --ontology notes --limit 20
    """
