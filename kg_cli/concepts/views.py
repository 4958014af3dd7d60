"""Concepts as a person reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.text import Text

from kg_api.client import KgClient
from kg_api.errors import KgError, NotFound
from kg_api.schemas.base import ID_DIGITS
from kg_api.schemas.concepts import (
    Concept,
    ConceptContext,
    ConceptDetails,
    ConceptHits,
    ConceptList,
    ConceptPaths,
    ExtractionStatus,
    Grounding,
    Neighbourhood,
    PathStep,
    RelatedConcept,
    RelatedConcepts,
    RelationshipEvidence,
    RelationshipHits,
    find_meant,
    nearest_labels,
)
from kg_api.wording import are, pluralize
from kg_cli.terminal import console


def concepts_to_follow(client: KgClient, ontology: str, found: ExtractionStatus | None = None) -> str | None:
    """Return one line about concepts that are still extracted or embedded; None when nothing is under way."""
    try:
        found = found or client.extraction_config(ontology)
        counts = client.embedding_status(ontology).concepts
    except KgError:  # what the person asked for has been done: this is said beside it
        return None
    reads = found.due if found.problem is None and found.last_error is None else 0
    embeds = counts.missing + counts.stale if counts else 0
    told = [f"{pluralize(reads, 'source')} {are(reads)} still to be read"] if reads else []
    told += [f"{pluralize(embeds, 'concept')} {are(embeds)} still to be embedded"] if embeds else []
    return f"concepts follow: {', '.join(told)}" if told else None


LOOKED_THROUGH = 20
"""Hits among which one is looked for that fits."""
ID = re.compile(rf"[0-9a-f]{{{ID_DIGITS}}}")
DIGITS = re.compile("[0-9a-f]{8,}")
"""What an id may begin with: the service tells whose, or that there is none."""


def take_concept(client: KgClient, text: str, ontology: str | None) -> str:
    """The id of the concept that is meant, or its first digits; say which was taken when it is not called so.

    Raises:
        NotFound: none fits.
    """
    if ID.fullmatch(text):
        return text
    found = client.search_concepts(text, ontology=ontology, limit=LOOKED_THROUGH)
    best = find_meant(found.concepts)
    if (best is None or best.fits == "meaning") and DIGITS.fullmatch(text):
        return text
    if best is None:
        console.note(*(each.effect for each in found.degraded))
        nearest = nearest_labels(found.concepts)
        raise NotFound(
            f"no concept fits {text!r}{nearest}; `kg concept list ONTOLOGY` shows the existing ones"
        )
    if best.fits != "name":
        console.say(f"No concept is called {escape(repr(text))}; taken: {escape(best.label)}")
    return best.concept_id


def print_concept_hits(answer: ConceptHits) -> None:
    console.note(*(each.effect for each in answer.degraded))
    if answer.note:
        console.note(answer.note)
    if not answer.concepts:
        console.say("No concept was found.")
        return
    rows = [
        [str(number), "" if each.similarity is None else f"{each.similarity:.2f}", _concept(each)]
        for number, each in enumerate(answer.concepts, start=1)
    ]
    console.print_table(["#", "similarity", "concept"], rows)
    console.say("What proves one: kg concept show ID")


def print_concepts(answer: ConceptList) -> None:
    console.note(*answer.notes)
    rows = [[str(each.sources), _concept(each)] for each in answer.concepts]
    console.print_table(["sources", "concept"], rows)
    console.say(f"{len(rows)} of {pluralize(answer.total, 'concept')}.")


def print_concept(answer: ConceptDetails) -> None:
    out = console.stdout()
    out.print(_concept(answer))
    for each in answer.evidence:
        place = f"{each.source.document} ¶{each.source.paragraph} {each.start}-{each.end}"
        doubt = "" if each.score == 1 else f", likeness {each.score:.2f}"
        told = f"  {place}{doubt}  {each.source.source_id}"
        out.print(Text.assemble(f"“{each.quote}”\n", (told, "dim")))
    for said in answer.unverified:
        place = f"not the words of {said.document} ¶{said.paragraph}, or its name alone"
        parts = ("  unverified: ", "yellow"), (f"{place}  {said.source_id}", "dim")
        out.print(Text.assemble((f"“{said.quote}”\n", "dim"), *parts))
    if answer.grounding:
        out.print(_grounding(answer.grounding))
    if answer.related:
        out.print(_related_lines(answer.label, answer.related))
    unverified = f", {answer.more_unverified} unverified" if answer.more_unverified else ""
    console.say(
        f"carried by {pluralize(answer.sources, 'source')}; not shown: "
        f"{pluralize(answer.more_evidence, 'quote')}, {answer.more_related} related{unverified}. "
        "Read it in its places: kg concept context ID"
    )


def print_related(answer: RelatedConcepts) -> None:
    console.note(*(each.effect for each in answer.degraded))
    if not answer.related:
        console.say(f"Nothing is known to be related to {escape(answer.concept.label)}.")
        return
    console.stdout().print(_related_lines(answer.concept.label, answer.related))
    more = f"; {answer.more_related} more" if answer.more_related else ""
    console.say(f"{len(answer.related)} related within {pluralize(answer.hops, 'hop')}{more}.")


def print_relationships(answer: RelationshipHits) -> None:
    console.note(*(each.effect for each in answer.degraded))
    if not answer.relationships:
        console.say("No relationship was found.")
    for hit in answer.relationships:
        told = f"{hit.similarity:.2f}  {hit.ontology}, {pluralize(hit.sources, 'source')}"
        console.stdout().print(_statement(hit.subject.label, hit.object.label, hit.type, told))
        for each in hit.evidence:
            console.stdout().print(_stated(each))


def print_paths(answer: ConceptPaths) -> None:
    console.note(*(each.effect for each in answer.degraded))
    if answer.start.concept_id == answer.end.concept_id:
        return
    between = f"from {answer.start.label} to {answer.end.label}"
    if not answer.paths:
        console.say(escape(f"There is no way {between} within {pluralize(answer.hops, 'hop')}."))
        return
    for number, path in enumerate(answer.paths, start=1):
        names = {each.concept_id: each.label for each in path.concepts}
        steps = [_step(step, names) for step in path.steps]
        console.stdout().print(Text(f"{number}. ", style="bold") + Text("\n   ").join(steps))
    console.say(escape(f"{pluralize(len(answer.paths), 'way')} {between}. Read a source: kg show ID"))


def print_passages(answer: ConceptContext) -> None:
    for passage in answer.passages:
        first = passage.sources[0]
        where = " > ".join([f"{first.ontology} / {first.document}", *first.heading])
        console.stdout().print(Text(where, style="bold"))
        lines, proved = Text(), {each.source.source_id for each in passage.quotes}
        for place in passage.sources:
            carries = place.source_id in passage.carried_by
            lines.append(f"¶{place.paragraph} {place.source_id}", style="dim")
            if carries and place.source_id not in proved:
                lines.append("  unverified: no quote of it proves the concept", style="yellow")
            lines.append("\n")
            lines.append(place.full_text.strip() + "\n", style="" if carries else "dim")
        console.stdout().print(lines)
    more = f"; {pluralize(answer.more_passages, 'source')} more" if answer.more_passages else ""
    shown = sum(len(passage.carried_by) for passage in answer.passages)
    told = f"{answer.concept.label} in {pluralize(shown, 'source')}{more}."
    console.say(escape(told))


def print_neighbourhood(answer: Neighbourhood) -> None:
    console.note(*(each.effect for each in answer.degraded))
    names = {each.concept_id: each.label for each in answer.concepts}
    for step in answer.steps:
        console.stdout().print(_step(step, names))
    more = f"; {answer.left_out} more" if answer.left_out else ""
    around = pluralize(len(names) - 1, "concept")
    edges = pluralize(len(answer.steps), "connection")
    console.say(escape(f"{around} around {names[answer.centre]}, {edges}{more}."))


def _concept(each: Concept) -> Text:
    also = f"  also {', '.join(each.search_terms)}" if each.search_terms else ""
    sources = pluralize(each.sources, "source")
    lines = Text.assemble((each.label, "bold"), (also, "cyan"), f"  ({each.ontology}, {sources})")
    if not each.verified:
        lines.append("  unverified: no quote proves it", style="yellow")
    lines.append("\n")
    if each.description:
        lines.append(f"{each.description}\n")
    return lines.append(each.concept_id, style="dim")


def _grounding(found: Grounding) -> Text:
    figures = f"belief {found.belief:.2f}, disbelief {found.disbelief:.2f}, unknown {found.uncertainty:.2f}"
    lines = Text.assemble(("grounding ", "bold"), f"{found.strength:.2f}", (f"  {figures}", "dim"))
    for name, side in (("for", found.supporting_evidence), ("against", found.contradicting_evidence)):
        for each in side:
            lines.append(f"\n  {name}: {each.statement}", style="bold").append("\n").append(_stated(each))
    return lines


def _stated(each: RelationshipEvidence) -> Text:
    place = f"{each.source.document} ¶{each.source.paragraph}"
    span = "" if each.start is None else f" {each.start}-{each.end}"
    said = f"“{each.quote}”" if each.quote else f"{each.statement} (no quote proves it)"
    return Text.assemble(f"  {said}\n", (f"  {place}{span}  {each.source.source_id}", "dim"))


def _related_lines(label: str, related: Sequence[RelatedConcept]) -> Text:
    names = {each.concept.concept_id: each.concept.label for each in related}
    lines: list[Text] = []
    for each in related:
        near = label if each.via is None else names.get(each.via, each.via)
        ends = (near, each.concept.label) if each.outgoing else (each.concept.label, near)
        sources = pluralize(len(each.sources), "source")
        far = f", {each.hops} hops" if each.hops > 1 else ""
        lines.append(_statement(*ends, each.type, f"{sources}{far}"))
    return Text("\n").join(lines)


def _step(step: PathStep, names: Mapping[str, str]) -> Text:
    ends = (names.get(step.subject, step.subject), names.get(step.object, step.object))
    shown = step.sources[0] if step.sources else ""
    more = f" and {len(step.sources) - 1} more" if len(step.sources) > 1 else ""
    return _statement(*ends, step.type, f"{shown}{more}")


def _statement(subject: str, target: str, kind: str, told: str) -> Text:
    return Text.assemble((subject, "bold"), f" {kind} ", (target, "bold"), (f"  {told}", "dim"))


SHOWN_PROBLEMS = 20


def print_import(told: Mapping[str, Any]) -> None:
    at_most = "at most " if told["concepts_are_at_most"] else ""
    said = (
        f"{pluralize(told['rows'], 'row')}: {at_most}{pluralize(told['concepts'], 'different concept')}, "
        f"{pluralize(told['appearances'], 'time')} in {pluralize(told['sources'], 'source')}, "
        f"{told['unverified']} of them without a quote; {pluralize(told['relations'], 'relationship')}"
    )
    console.line(f"{told['ontology']}: {said}")
    if emptied := told["emptied"]:
        lost = f"all that was imported before for {pluralize(emptied, 'source')}"
        console.line(f"  removed: {lost}: rows that name it bring nothing that stands there")
    problems = told["problems"]
    for each in problems[:SHOWN_PROBLEMS]:
        about = f" ({each['label']})" if each["label"] else ""
        console.line(f"  not placed: {each['place']}{about}: {each['reason']}")
    if (more := max(0, len(problems) - SHOWN_PROBLEMS) + told["more_problems"]) > 0:
        console.stdout().print(f"  and {more} more; --json names them")
