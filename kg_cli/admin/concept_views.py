"""How concepts are extracted, as a person reads it."""

from __future__ import annotations

from rich.markup import escape

from kg_api.client import KgClient
from kg_api.schemas.concepts import (
    ConceptMerge,
    ConceptMerges,
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
    print_status(found)
    if told := concepts_to_follow(client, found.ontology, found):
        say(told)


def print_started(started: ExtractionStarted) -> None:
    if started.job_id is None:
        say("Nothing is due.")
    else:
        say(
            f"{pluralize(started.due, 'source')} {are(started.due)} to be read; "
            f"follow it with: kg jobs watch {started.job_id}"
        )


def print_refused(found: UnreadSources) -> None:
    print_reasons(found.sources)
    again = f"; `kg admin concepts extract --ontology {found.ontology!r}` tries them again"
    say(f"set aside: {pluralize(found.total, 'source')}{escape(again) if found.total else ''}")


def print_status(found: ExtractionStatus) -> None:
    used, own = found.used, found.config
    usual = " (the service's setting)"
    refused = f", {found.refused} set aside" if found.refused else ""
    stale = f", {found.stale} stale" if found.stale else ""
    relations = pluralize(found.relations, "relationship")
    rows = [
        ("extractor", f"{used.extractor}{'' if own.extractor is not None else usual}"),
        ("concepts a source", f"at most {used.per_source}{'' if own.per_source is not None else usual}"),
    ]
    if found.model:
        rows.append(("model", f"{found.model} (fingerprint {found.fingerprint})"))
    rows += [
        ("sources", f"{found.total}: {found.extracted} read, {found.due} due{stale}{refused}"),
        (
            "found",
            f"{pluralize(found.concepts, 'concept')}, {pluralize(found.quotes, 'quote')}, {relations}",
        ),
    ]
    if found.unverified_quotes or found.unverified_concepts:
        quotes = f"{found.unverified_quotes} quotes that are not in their sources"
        rows.append(("not proved", f"{quotes}, {found.unverified_concepts} concepts without one"))
    rows += _money(found)
    title = found.ontology if found.applied else f"{found.ontology} (as it would be)"
    print_table(["setting", "value"], rows, title=title)
    if found.problem:
        say(f"problem: {escape(found.problem)}")
    if found.last_error:
        again = f"when that is mended: kg admin concepts extract --ontology {found.ontology!r}"
        say(f"last job: {escape(f'{found.last_error}; {again}')}")
    for each in found.notes:
        say(f"note: {escape(each)}")


def _money(found: ExtractionStatus) -> list[tuple[str, str]]:
    rows, budget = list[tuple[str, str]](), found.used.budget
    if budget is not None:
        rows.append(("budget", f"${budget:g}"))
    if found.used.extractor == "llm" or found.spent:
        bound = "no bound" if budget is None else f"of ${budget:g}"
        expected = f"; about ${found.expected:.4f} expected" if found.expected else ""
        rows.append(("spent", f"${found.spent:.4f}, {bound}{expected}"))
    if cost := found.cost:
        rows.append(("to read", f"{pluralize(cost.sources, 'source')}"))
        if cost.requests:
            tokens = f"about {pluralize(cost.tokens_read, 'token')} read, {cost.tokens_written} written"
            rows.append(("language model", f"about {pluralize(cost.requests, 'request')}: {tokens}"))
        free = "not known" if cost.price is None else "nothing"
        rows.append(("price", f"about ${cost.price:.4f}" if cost.price else free))
        rows += [("", each) for each in cost.notes]
    if found.stale_cost is not None:
        price = "not known" if found.stale_cost.price is None else f"about ${found.stale_cost.price:.4f}"
        rows.append(("stale", f"{pluralize(found.stale, 'source')} to read again, if asked for: {price}"))
    return rows


def print_merges(answer: ConceptMerges) -> None:
    rows: list[list[str]] = []
    for each in answer.merges:
        why = each.reason or "" if each.similarity is None else f"{each.reason}, {each.similarity:.2f}"
        when = f"{each.at:%Y-%m-%d %H:%M}"
        if each.undone_at is not None:
            by = f" by {each.undone_by}" if each.undone_by else ""
            when += f"\nundone{by}\n{each.undone_at:%Y-%m-%d %H:%M}"
        elif not each.undoable:
            when += "\ncannot be undone"
        rows.append([f"{each.merged} → {each.into}\n{each.merge_id}", why, str(each.sources), when])
    print_table(["merged", "why", "sources", "when"], rows)
    say(f"{len(rows)} of {pluralize(answer.total, 'merge')}.")


def print_merge(answer: ConceptMerge) -> None:
    say(
        f"{escape(repr(answer.merged))} and {escape(repr(answer.into))} are two concepts, and stay so; "
        "sources that were read since are read again."
    )


# Types of relationships as a person reads them.


def print_types(answer: RelationshipTypes) -> None:
    rows = [[str(each.relations), each.name, each.stance, ", ".join(each.also)] for each in answer.types]
    print_table(["relationships", "type", "stance", "merged into it"], rows)
    say(f"{len(rows)} of {pluralize(answer.total, 'type')}.")


def print_proposals(answer: TypeProposals) -> None:
    note(*answer.notes)
    rows: list[list[str]] = []
    for each in answer.proposals:
        example = each.examples[0] if each.examples else ""
        rows.append([each.into, str(each.relations), "", "", example])
        for like in each.merged:
            figures = (str(like.relations), f"{like.similarity:.2f}", str(like.shared))
            rows.append([f"  = {like.name}", *figures, like.examples[0] if like.examples else ""])
    if not rows:
        say(f"No two of {pluralize(answer.compared, 'type')} are that alike.")
        return
    print_table(["type", "relationships", "similarity", "same pairs", "example"], rows)
    merge = f"kg admin relationship-types merge INTO TYPE... --ontology {answer.ontology!r}"
    say(f"Merge those that say the same: {escape(merge)}")


def print_relationship_merge(answer: TypeMerge) -> None:
    note(*answer.notes)
    names = escape(", ".join(map(repr, answer.merged)))
    into, what = escape(repr(answer.into)), pluralize(answer.relations, "relationship")
    if answer.merge_id is None:
        say(f"{names} would be read as {into}: {what}. Nothing was changed: this is a dry run.")
    elif answer.undone_at is not None:
        say(f"{names} {are(len(answer.merged))} no part of {into} any more.")
    else:
        undo = f"kg admin relationship-types undo {answer.merge_id} --ontology {answer.ontology!r}"
        say(f"{names} {are(len(answer.merged))} read as {into}: {what}. Undo it with: {escape(undo)}")


def print_relationship_merges(answer: TypeMerges) -> None:
    rows: list[list[str]] = []
    for each in answer.merges:
        at = f"{each.at:%Y-%m-%d %H:%M}"
        undone = f"{each.undone_at:%Y-%m-%d %H:%M}" if each.undone_at else ""
        rows.append(
            [
                f"{', '.join(each.merged)} → {each.into}\n{each.merge_id}",
                f"{each.by}\n{at}" if each.by else at,
                f"{each.undone_by}\n{undone}" if undone and each.undone_by else undone,
            ]
        )
    print_table(["merged", "by", "undone"], rows)
    say(f"{len(rows)} of {pluralize(answer.total, 'merge')}.")
