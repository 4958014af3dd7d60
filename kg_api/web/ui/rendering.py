"""Templates become pages. What documents, names and questions hold is text there, never markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kg_api import __version__
from kg_api.web.access.session import may, viewer
from kg_api.web.forwarded import page_below_prefix, pieces_below_prefix
from kg_api.web.ui.assets import address_of
from kg_api.web.ui.audit.deeds import deed_of
from kg_api.web.ui.conditions import condition_of
from kg_api.web.ui.graph.drawing import ties
from kg_api.web.ui.links import address, below
from kg_api.web.ui.navigation import ADMINISTRATION, PLACES
from kg_api.web.ui.passages import excerpt, opening, pieces_of, reasons
from kg_api.web.ui.questions import address_of_hit, address_of_measured, words_of_way
from kg_api.web.ui.wording import DONE, as_text, count, day, duration, moment, pace, share, time_left

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Vary": "HX-Request",
}
"""Scripts and styles are files of ours alone; pages are kept nowhere, and no other window holds them."""

_REORDERING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _show_reordering(value: Any) -> Any:
    """Show control characters and overrides of the writing direction as `�`.

    A name such as `evil<U+202E>txt.md` would otherwise reorder the rest of its row. Marks that Arabic and
    Hebrew need (U+200E, U+200F, U+061C) stay.
    """
    if isinstance(value, str) and _REORDERING.search(value):
        return type(value)(_REORDERING.sub("\ufffd", value))  # Markup stays Markup
    return value


_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_show_reordering,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_FUNCTIONS: Final[dict[str, Any]] = {
    "version": __version__,
    "asset": address_of,
    "address": address,
    "below": below,
    "address_of_hit": address_of_hit,
    "address_of_measured": address_of_measured,
    "viewer": viewer,
    "may": may,
    "condition_of": condition_of,
    "places": PLACES,
    "administration": ADMINISTRATION,
    "outcomes": DONE,
}
_FILTERS: Final[dict[str, Any]] = {
    "deed": deed_of,
    "count": count,
    "day": day,
    "duration": duration,
    "moment": moment,
    "pace": pace,
    "share": share,
    "time_left": time_left,
    "as_text": as_text,
    "excerpt": excerpt,
    "pieces": pieces_of,
    "reasons": reasons,
    "opening": opening,
    "ties": ties,
    "way": words_of_way,
}
_templates.globals.update(_FUNCTIONS)
_templates.filters.update(_FILTERS)


def wants_part(request: Request) -> bool:
    """Whether htmx asks, which puts what comes into the page that is there."""
    headers = request.headers
    return headers.get("HX-Request") == "true" and headers.get("HX-History-Restore-Request") != "true"


def render(template: str, shown: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    """Give a page, or a part of one.

    Args:
        template: its file in `templates/`.
        shown: what the template shows, by its names there.
        status: of HTTP.
    """
    page = _templates.get_template(template).render(shown)
    return HTMLResponse(page_below_prefix(page), status, HEADERS)


def render_pieces(template: str, shown: Mapping[str, Any]) -> Iterator[str]:
    """Give a page piece by piece, as what it shows comes; it is sent with `HEADERS`.

    Args:
        template: its file in `templates/`.
        shown: what the template shows, by its names there; what it goes through may be still to come.
    """
    return pieces_below_prefix(_templates.get_template(template).generate(shown))
