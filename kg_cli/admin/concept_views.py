"""How concepts are extracted, as a person reads it."""

from __future__ import annotations

from rich.markup import escape

from kg_api.client import KgClient
from kg_api.schemas.concepts import (
    ConceptMerge,
    ConceptMerges,
    ExtractionCost,
    ExtractionStarted,
    ExtractionStatus,
    RelationshipTypes,
    TypeMerge,
    TypeMerges,
    TypeProposals,
    UnreadSources,
)
from kg_api.wording import are, pluralize
from kg_cli.admin.embedding_views import print_reasons
from kg_cli.concepts.views import concepts_to_follow
from kg_cli.terminal.console import note, print_table, say


def print_progress(client: KgClient, found: ExtractionStatus) -> None:
    """Print how far extraction is, and what is still to come."""
    print_status(found)
    if told := concepts_to_follow(client, found.ontology, found):
        say(told)


def print_started(started: ExtractionStarted) -> None:
    """Say what is read now."""
    if started.job_id is None:
        say("Nothing is due.")
    else:
        say(
            f"{pluralize(started.due, 'source')} {are(started.due)} to be read; "
            f"follow it with: kg jobs watch {started.job_id}"
        )


def print_refused(found: UnreadSources) -> None:
    """Print from what nothing could be extracted, and why."""
    print_reasons(found.sources)
    again = f"; `kg admin concepts extract --ontology {found.ontology!r}` tries them again"
    say(f"set aside: {pluralize(found.total, 'source')}{escape(again) if found.total else ''}")


def print_status(found: ExtractionStatus) -> None:
    """Print a configuration, and what was found by it."""
    used, relations = found.used, pluralize(found.relations, "relationship")
    refused = f", {found.refused} set aside" if found.refused else ""
    stale = f", {found.stale} stale" if found.stale else ""
    rows = [
        ("extractor", _set_or_usual(used.extractor, found.config.extractor)),
        ("concepts a source", _set_or_usual(f"at most {used.per_source}", found.config.per_source)),
        *([("model", f"{found.model} (fingerprint {found.fingerprint})")] if found.model else []),
        ("sources", f"{found.total}: {found.extracted} read, {found.due} due{stale}{refused}"),
        (
            "found",
            f"{pluralize(found.concepts, 'concept')}, {pluralize(found.quotes, 'quote')}, {relations}",
        ),
        *_unverified(found),
        *_money(found),
        *(_cost(found.cost) if found.cost else ()),
        *_cost_of_stale(found),
    ]
    title = found.ontology if found.applied else f"{found.ontology} (as it would be)"
    print_table(["setting", "value"], rows, title=title)
    for word, told in _troubles(found):
        say(f"{word}: {escape(told)}")


def _troubles(found: ExtractionStatus) -> list[tuple[str, str]]:
    told = [("problem", found.problem)] if found.problem else []
    if found.last_error:
        again = f"when that is mended: kg admin concepts extract --ontology {found.ontology!r}"
        told.append(("last job", f"{found.last_error}; {again}"))
    return [*told, *(("note", note) for note in found.notes)]


def _set_or_usual(value: str, own: object) -> str:
    return value if own is not None else f"{value} (the service's setting)"


def _unverified(found: ExtractionStatus) -> list[tuple[str, str]]:
    if not found.unverified_quotes and not found.unverified_concepts:
        return []
    quotes, concepts = found.unverified_quotes, found.unverified_concepts
    return [("not proved", f"{quotes} quotes that are not in their sources, {concepts} concepts without one")]


def _money(found: ExtractionStatus) -> list[tuple[str, str]]:
    budget = found.used.budget
    told = [] if budget is None else [("budget", f"${budget:g}")]
    if found.used.extractor == "llm" or found.spent:
        bound = "no bound" if budget is None else f"of ${budget:g}"
        expected = f"; about ${found.expected:.4f} expected" if found.expected else ""
        told.append(("spent", f"${found.spent:.4f}, {bound}{expected}"))
    return told


def _cost_of_stale(found: ExtractionStatus) -> list[tuple[str, str]]:
    if found.stale_cost is None:
        return []
    price = found.stale_cost.price
    told = "not known" if price is None else f"about ${price:.4f}"
    return [("stale", f"{pluralize(found.stale, 'source')} to read again, if asked for: {told}")]


def _cost(cost: ExtractionCost) -> list[tuple[str, str]]:
    told = [("to read", f"{pluralize(cost.sources, 'source')}")]
    if cost.requests:
        tokens = f"about {pluralize(cost.tokens_read, 'token')} read, {cost.tokens_written} written"
        told.append(("language model", f"about {pluralize(cost.requests, 'request')}: {tokens}"))
    price = "not known" if cost.price is None else f"about ${cost.price:.4f}" if cost.price else "nothing"
    return [*told, ("price", price), *(("", note) for note in cost.notes)]


def print_merges(answer: ConceptMerges) -> None:
    rows = [
        [
            f"{each.merged} → {each.into}\n{each.merge_id}",
            (each.reason or "" if each.similarity is None else f"{each.reason}, {each.similarity:.2f}"),
            str(each.sources),
            _when(each),
        ]
        for each in answer.merges
    ]
    print_table(["merged", "why", "sources", "when"], rows)
    say(f"{len(rows)} of {pluralize(answer.total, 'merge')}.")


def print_merge(answer: ConceptMerge) -> None:
    """Say what was parted."""
    say(
        f"{escape(repr(answer.merged))} and {escape(repr(answer.into))} are two concepts, and stay so; "
        "sources that were read since are read again."
    )


def _when(merge: ConceptMerge) -> str:
    at = f"{merge.at:%Y-%m-%d %H:%M}"
    if merge.undone_at is None:
        return at if merge.undoable else f"{at}\ncannot be undone"
    by = f" by {merge.undone_by}" if merge.undone_by else ""
    return f"{at}\nundone{by}\n{merge.undone_at:%Y-%m-%d %H:%M}"


# Types of relationships as a person reads them.


def print_types(answer: RelationshipTypes) -> None:
    rows = [[str(each.relations), each.name, each.stance, ", ".join(each.also)] for each in answer.types]
    print_table(["relationships", "type", "stance", "merged into it"], rows)
    say(f"{len(rows)} of {pluralize(answer.total, 'type')}.")


def print_proposals(answer: TypeProposals) -> None:
    """Print what may say the same, each with an example."""
    note(*answer.notes)
    rows: list[list[str]] = []
    for each in answer.proposals:
        rows.append([each.into, str(each.relations), "", "", _example(each.examples)])
        rows += [
            [
                f"  = {like.name}",
                *(str(like.relations), f"{like.similarity:.2f}", str(like.shared)),
                _example(like.examples),
            ]
            for like in each.merged
        ]
    if not rows:
        say(f"No two of {pluralize(answer.compared, 'type')} are that alike.")
        return
    print_table(["type", "relationships", "similarity", "same pairs", "example"], rows)
    merge = f"kg admin relationship-types merge INTO TYPE... --ontology {answer.ontology!r}"
    say(f"Merge those that say the same: {escape(merge)}")


def print_relationship_merge(answer: TypeMerge) -> None:
    """Say what was merged, or would be, or was undone."""
    note(*answer.notes)
    names = escape(", ".join(map(repr, answer.merged)))
    into, what = escape(repr(answer.into)), pluralize(answer.relations, "relationship")
    if answer.merge_id is None:
        say(f"{names} would be read as {into}: {what}. Nothing was changed: this is a dry run.")
    elif answer.undone_at is not None:
        say(f"{names} {are(len(answer.merged))} no part of {into} any more.")
    else:
        say(f"{names} {are(len(answer.merged))} read as {into}: {what}. Undo it with: {_undo(answer)}")


def print_relationship_merges(answer: TypeMerges) -> None:
    rows = [
        [
            f"{', '.join(each.merged)} → {each.into}\n{each.merge_id}",
            _when_views(each.by, f"{each.at:%Y-%m-%d %H:%M}"),
            _when_views(each.undone_by, f"{each.undone_at:%Y-%m-%d %H:%M}") if each.undone_at else "",
        ]
        for each in answer.merges
    ]
    print_table(["merged", "by", "undone"], rows)
    say(f"{len(rows)} of {pluralize(answer.total, 'merge')}.")


def _when_views(by: str | None, at: str) -> str:
    return f"{by}\n{at}" if by else at


def _undo(answer: TypeMerge) -> str:
    return escape(f"kg admin relationship-types undo {answer.merge_id} --ontology {answer.ontology!r}")


def _example(examples: list[str]) -> str:
    return examples[0] if examples else ""
