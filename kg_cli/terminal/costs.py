"""What embedding will take, as a person reads it."""

from __future__ import annotations

from kg_api.models.embedding.configuration import Cost
from kg_api.wording.plural import pluralize

MINUTE = 60
MIN_EXACT = 0.0001
"""US dollars that are told exactly."""


def cost_rows(cost: Cost) -> list[tuple[str, str]]:
    """Rows of a table of two columns."""
    about = "" if cost.sampled_documents >= cost.documents else "about "
    chunks = about + pluralize(cost.chunks, "chunk")
    what = (
        f"{pluralize(cost.sources, 'source')}: {chunks}" if cost.sources else pluralize(cost.chunks, "text")
    )
    rows = [
        ("to embed", f"{what}, {about}{pluralize(cost.tokens, 'token')}"),
        ("time", _time(cost.seconds)),
        ("price", _money(cost.price)),
    ]
    if cost.context_price is not None:
        rows.append(("price of contexts", _money(cost.context_price)))
    return [*rows, *(("", note) for note in cost.notes)]


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "not known"
    return f"about {seconds:.0f} s" if seconds < 2 * MINUTE else f"about {seconds / MINUTE:.0f} minutes"


def _money(dollars: float | None) -> str:
    if dollars is None:
        return "not known"
    if dollars == 0:
        return "nothing"
    return f"about ${dollars:.4f}" if dollars >= MIN_EXACT else f"less than ${MIN_EXACT}"
