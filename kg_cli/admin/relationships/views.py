"""Types of relationships as a person reads them."""

from __future__ import annotations

from rich.markup import escape

from kg_api.models.concepts.vocabulary import RelationshipTypes, TypeMerge, TypeMerges, TypeProposals
from kg_api.wording.plural import are, pluralize
from kg_cli.terminal.console import note, print_table, say


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


def print_merge(answer: TypeMerge) -> None:
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


def print_merges(answer: TypeMerges) -> None:
    rows = [
        [
            f"{', '.join(each.merged)} → {each.into}\n{each.merge_id}",
            _when(each.by, f"{each.at:%Y-%m-%d %H:%M}"),
            _when(each.undone_by, f"{each.undone_at:%Y-%m-%d %H:%M}") if each.undone_at else "",
        ]
        for each in answer.merges
    ]
    print_table(["merged", "by", "undone"], rows)
    say(f"{len(rows)} of {pluralize(answer.total, 'merge')}.")


def _when(by: str | None, at: str) -> str:
    return f"{by}\n{at}" if by else at


def _undo(answer: TypeMerge) -> str:
    return escape(f"kg admin relationship-types undo {answer.merge_id} --ontology {answer.ontology!r}")


def _example(examples: list[str]) -> str:
    return examples[0] if examples else ""
