"""Passages as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from kg_api.models.library.metadata import date_of
from kg_api.models.queries.hybrid import HybridHits
from kg_api.models.queries.places import ContextWindow, DescribedPlace, SourcePlace
from kg_api.models.queries.search import LeftOut, SourceHit, SourceHits
from kg_api.models.queries.windows import SourceWindow
from kg_api.wording.pages import describe_ocr, describe_pages
from kg_api.wording.plural import pluralize
from kg_cli.search.views.marking import excerpt, mark, marks_in
from kg_cli.terminal import console


def print_hits(answer: SourceHits, *, full: bool, further: bool = False) -> None:
    """Print the hits of a search as a table, and what could not be done.

    Args:
        answer: the page.
        full: whole passages, not only what matched.
        further: whether other pages were before.
    """
    console.note(*(each.effect for each in answer.degraded), *_given(answer.note))
    if not answer.sources:
        console.say(_nothing(answer.left_out, further=further))
        return
    several = len(answer.spaces) > 1
    rows = [_row(number, hit, full=full, space=several) for number, hit in enumerate(answer.sources, start=1)]
    console.print_table(["#", "similarity", "passage"], rows)
    print_windows(answer.windows)
    told = pluralize(len(rows), "hit")
    console.say(f"{told} in {answer.timings_ms['total']:.0f} ms. Read around one: kg show ID")
    _say_more(answer.next_cursor)


def _nothing(left_out: LeftOut, *, further: bool) -> str:
    """Why there is no hit."""
    if further:
        return "There are no more hits."
    if left_out.nearest is None or not left_out.below_similarity:
        return "Nothing was found. `kg ontologies` shows what there is to search."
    told = pluralize(left_out.below_similarity, "passage")
    return f"Nothing was similar enough: {told} left out, the nearest has {left_out.nearest:.2f}."


def _given(*notes: str | None) -> list[str]:
    return [each for each in notes if each]


def print_hybrid(answer: HybridHits, *, full: bool) -> None:
    """Print concepts and passages as tables, and what could not be done."""
    console.note(*(each.effect for each in answer.degraded), *_given(answer.note, answer.concepts_note))
    if answer.concepts:
        console.print_table(
            ["concept", "similarity", "passages"],
            [
                [
                    Text.assemble((each.label, "bold"), (f"\n{each.concept_id}\n", "dim")),
                    _similarity(each.similarity),
                    str(each.sources),
                ]
                for each in answer.concepts
            ],
        )
    rows = [_row(at, hit, full=full, space=False) for at, hit in enumerate(answer.sources, start=1)]
    if rows:
        console.print_table(["#", "similarity", "passage"], rows)
    print_windows(answer.windows)
    found = f"{pluralize(len(answer.concepts), 'concept')} and {pluralize(len(rows), 'passage')}"
    told = f"{found} in {answer.timings_ms['total']:.0f} ms."
    console.say(f"{told} More of a concept: kg concept show ID; read around a passage: kg show ID")
    _say_more(answer.next_cursor)


def _say_more(cursor: str | None) -> None:
    if cursor is not None:
        console.say(f"There are more; the next ones: the same command with --cursor {cursor}")


def print_windows(windows: Sequence[ContextWindow]) -> None:
    """Print what to read, in the order of the best hits."""
    for each in windows:
        where = " > ".join([f"{each.ontology} / {each.document}", *each.heading])
        size = pluralize(each.tokens, "token")
        console.stdout().print(Text(f"{where}  {each.start}-{each.end}, {size}", style="bold"))
        console.stdout().print(Text(each.text.strip() + "\n"))


def print_context(context: SourceWindow) -> None:
    """Print paragraphs in reading order, the one asked for marked, and what did not fit."""
    console.note(*(each.effect for each in context.degraded))
    if context.sources:
        first = context.sources[0]
        console.stdout().print(Text(f"{first.ontology} / {first.document}", style="bold"))
    for place in context.sources:
        chosen = place.source_id == context.source_id
        style = "bold" if chosen else "dim"
        console.stdout().print(Text(f"\n{'>' if chosen else ' '} {_where(place)}", style="cyan"))
        console.stdout().print(Text(place.full_text.strip(), style=style))
    if context.left_out:
        given = f"{context.tokens} of {context.token_budget} tokens"
        console.say(f"\n{given}; {context.left_out} of the paragraphs around it did not fit.")


def _row(number: int, hit: SourceHit, *, full: bool, space: bool) -> list[str | Text]:
    part = (hit.parent or hit.chunk) if full else hit.chunk  # the larger part is what is meant to be read
    marks = marks_in(hit, hit.matches, part.start, part.text)
    passage = mark(part.text, marks) if full else excerpt(part.text, marks)
    similarity = _similarity(hit.similarity)
    if space and hit.space:  # those of two models cannot be compared
        similarity += f"\n{hit.space}"
    below = Text(f"\n{hit.source_id}{_through(hit)}{_explain(hit)}{_copies(hit)}\n", style="dim")
    return [str(number), similarity, title_of(hit) + passage + below]


def _similarity(similarity: float | None) -> str:
    return "-" if similarity is None else f"{similarity:.2f}"


def _through(hit: SourceHit) -> str:
    return f"\nthrough: {', '.join(each.label for each in hit.through)}" if hit.through else ""


def _copies(hit: SourceHit) -> str:
    return f"\nalmost the same: {', '.join(hit.duplicates)}" if hit.duplicates else ""


def _explain(hit: SourceHit) -> str:
    """A line for each stage that had a say."""
    explanation = hit.explanation
    if explanation is None:
        return ""
    lines = [
        f"{part.lane}: {'not found, but measured' if part.rank is None else f'#{part.rank}'}, "
        f"score {part.score:.3g}, weight {part.weight:.3g}, adds {part.contribution:.3g} ({part.index})"
        for part in explanation.lanes
    ]
    lines.append(f"fused ({explanation.fusion}): #{explanation.fused_rank}, {explanation.fused_score:.3g}")
    if explanation.rerank_rank is not None:
        own = f"cross-encoder {explanation.rerank_score:.3g}"
        lines.append(f"reranked: #{explanation.rerank_rank}, {own} and the fused place give {hit.score:.3g}")
    if explanation.mmr_rank is not None:
        lines.append(f"diversified: #{explanation.mmr_rank}, value {explanation.mmr_score:.3g}")
    return "".join(f"\n  {line}" for line in lines)


def title_of(place: SourcePlace) -> Text:
    """A line that says where a source is."""
    name = f"{place.ontology} / {place.document}"
    date = date_of(place.metadata) if isinstance(place, DescribedPlace) else None
    dated = f"  {date}" if date else ""
    return Text.assemble((name, "bold"), "  ", (_where(place), "cyan"), (dated, "dim"), "\n")


def _where(place: SourcePlace) -> str:
    page = [] if place.page is None else [describe_pages(place.page, place.last_page)]
    if place.image is not None:
        page.append(f"picture of {place.image.width} x {place.image.height}")
    ocr = f" ({describe_ocr(place.ocr_confidence)})" if place.ocr else ""
    return " > ".join([*place.heading, *page, f"¶{place.paragraph}"]) + ocr
