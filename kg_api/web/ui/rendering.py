"""What all pages share: files, addresses, numbers, excerpts and questions."""

from __future__ import annotations

import gzip
import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache
from mimetypes import guess_type
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, cast

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import BaseModel

from kg_api import __version__
from kg_api.errors import NotFound
from kg_api.evaluation.saved import ontology_of
from kg_api.schemas.evaluation import EvalResult
from kg_api.schemas.filters import OF_TIME, PAGE, FacetCounts, FacetValue, parse_conditions
from kg_api.schemas.search import SourceHit, SourceSearch, WordMatch
from kg_api.schemas.vocabulary import MAX_LIMIT
from kg_api.web.shared.forwarded import page_below_prefix, pieces_below_prefix
from kg_api.web.shared.limits import valid
from kg_api.web.shared.routes import GuardedRoute
from kg_api.web.shared.scopes import public
from kg_api.web.shared.security import may, note_outcome, viewer
from kg_api.web.ui.drawing import describe_ties, opening
from kg_api.web.ui.links import Value, address, below

FOLDER: Final = Path(__file__).parent / "static"
PREFIX: Final = "/ui/assets/"
SHOWN: Final = frozenset({".js", ".css", ".svg"})
FOR_GOOD: Final = "public, max-age=31536000, immutable"
"""The address has a part of the content's hash: another content has another address."""

router = APIRouter(include_in_schema=False, route_class=GuardedRoute)


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    packed: bytes
    media_type: str
    digest: str


@cache
def _assets() -> dict[str, Asset]:
    assets: dict[str, Asset] = {}
    for path in sorted(each for each in FOLDER.rglob("*") if each.suffix in SHOWN):
        content = path.read_bytes()
        media_type = guess_type(path.name)[0] or "application/octet-stream"
        digest = hashlib.sha256(content).hexdigest()[:16]
        assets[path.name] = Asset(content, gzip.compress(content, mtime=0), media_type, digest)
    return assets


def address_of(name: str) -> str:
    return f"{PREFIX}{_assets()[name].digest}/{name}"


@router.get(PREFIX + "{digest}/{name}")
@public()
async def get_asset(request: Request, digest: str, name: str) -> Response:
    """Give one, at once and from memory; 404 where it is of another version."""
    found = _assets().get(name)
    if found is None or found.digest != digest:
        raise NotFound(f"there is no {name[:100]!r} of that version: load the page anew")
    headers = {"Cache-Control": FOR_GOOD, "Vary": "Accept-Encoding", "X-Content-Type-Options": "nosniff"}
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(found.packed, media_type=found.media_type, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)


# Conditions as a link writes them: what a facet shows, asked for. Pure.

ORDERED: Final = (">=", "<=")


def condition_of(facet: FacetCounts, value: FacetValue) -> str | None:
    """The condition that finds the documents of a value; None: one line cannot say it."""
    written = f"{_quoted(facet.field)}={_written(value.value, is_date=facet.by is not None)}"
    try:
        read = parse_conditions(written)
    except ValueError:
        return None
    same = str(read.get("value")) == value.value if facet.by else read.get("value") == value.value
    return written if same and (read.get("field"), read.get("op")) == (facet.field, "=") else None


def begun_conditions(fields: Sequence[str]) -> list[str]:
    """Return how conditions on the fields begin; of what has an order also `>=` and `<=`."""
    begun = [
        (each, sign) for each in fields for sign in ("=", *(ORDERED if each in (*OF_TIME, PAGE) else ()))
    ]
    return [f"{_quoted(field)}{sign}" for field, sign in begun if _can_be_named(field)]


def _can_be_named(field: str) -> bool:
    """Whether a line can say it: not one with quotes of both kinds."""
    try:
        return parse_conditions(f"{_quoted(field)}=1").get("field") == field
    except ValueError:
        return False


def _written(value: str | float | bool, *, is_date: bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str) or is_date:
        return str(value)
    simple = value.replace("-", "").replace("_", "").isalpha() and value.lower() not in {"true", "false"}
    return value if simple else f'"{value}"' if "'" in value else f"'{value}'"


def _quoted(field: str) -> str:
    plain = all(each.isalnum() or each in "_-." for each in field)
    return field if field and plain else f"'{field}'"


# Numbers and moments as people read them.


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with what it counts, digits in threes: `1 document`, `1,200 documents`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")  # noqa: PLR2004 - eleventh to thirteenth
    return f"{number:,}{ending}"


def share(part: float) -> str:
    """A share of 1 in per cent: 100 % only where nothing is missing, 0 % only where nothing is there."""
    percent = part * 100
    shown = min(99, max(1, round(percent))) if 0 < percent < 100 else round(percent)  # noqa: PLR2004 - per cent
    return f"{shown} %"


def duration(seconds: int) -> str:
    """In the largest unit that fits evenly: `90 seconds`, `5 minutes`, `1 hour`, `2 days`."""
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds and seconds % size == 0:
            return count(seconds // size, unit)
    return count(seconds, "second")


def pace(items_a_second: float) -> str:
    """`12 a second`, `24 a minute`, `20 an hour`: in the first of them that leaves at least one."""
    for seconds, unit in ((1, "a second"), (60, "a minute")):
        if items_a_second * seconds >= 1:
            return f"{_two_digits(items_a_second * seconds)} {unit}"
    return f"{_two_digits(items_a_second * 3600)} an hour"


def _two_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"  # noqa: PLR2004 - of these two digits stand anyhow


def time_left(seconds: float) -> str:
    """How long something goes on, no less than it is: `about 40 seconds`, `about 3 minutes`."""
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"about {count(math.ceil(seconds / size), unit)}"
    return f"about {count(max(1, math.ceil(seconds)), 'second')}"


def moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M")


def as_text(given: object) -> str:
    """A value of the metadata, whatever it is: nothing for null, several with commas between."""
    if isinstance(given, list | tuple):
        return ", ".join(filter(None, map(as_text, cast("list[object]", given))))
    return "" if given is None else str(given)


def day(given: object) -> str:
    """The day of a date or moment, of the first where there are several."""
    return given.isoformat()[:10] if isinstance(given, date) else as_text(given).partition(",")[0][:10]


# Passages as a page shows them: what of their text, with the words of the question marked. Pure.

SHOWN_CHARACTERS: Final = 500
"""Of a longer passage a hit shows so many, and says so; reading shows all."""
BEFORE: Final = 120
"""Characters before the first word of the question."""


class MarkedPiece(NamedTuple):
    text: str
    matched: bool


class Excerpt(NamedTuple):
    pieces: list[MarkedPiece]
    cut_before: bool
    cut_after: bool


def pieces_of(
    text: str, matches: Sequence[WordMatch], start: int = 0, end: int | None = None
) -> list[MarkedPiece]:
    """A text from `start` to `end`, divided at the words of the question; offsets are code points."""
    end = len(text) if end is None else end
    pieces, at = list[MarkedPiece](), start
    for match in sorted(matches, key=lambda each: each.start):
        first, last = max(match.start, at), min(match.end, end)
        if first < last:
            pieces += [
                MarkedPiece(text[at:first], matched=False),
                MarkedPiece(text[first:last], matched=True),
            ]
            at = last
    return [each for each in [*pieces, MarkedPiece(text[at:end], matched=False)] if each.text]


def excerpt(hit: SourceHit) -> Excerpt:
    """A short passage whole; of a long one what stands around the first word of the question."""
    text = hit.full_text
    if len(text) <= SHOWN_CHARACTERS:
        return Excerpt(pieces_of(text, hit.matches), cut_before=False, cut_after=False)
    first = min((each.start for each in hit.matches), default=0)
    # Behind the next space, where one is near
    at = min(max(0, first - BEFORE), len(text) - SHOWN_CHARACTERS)
    space = text.find(" ", at, at + BEFORE // 2) if at else -1
    start = at if space < 0 else space + 1
    end = min(len(text), start + SHOWN_CHARACTERS)
    return Excerpt(pieces_of(text, hit.matches, start, end), start > 0, end < len(text))


def reasons(hit: SourceHit) -> list[str]:
    told = [("by meaning", hit.ranks.vector), ("by words", hit.ranks.text)]
    told += [("through concepts", hit.ranks.concepts), ("as a picture", hit.ranks.pictures)]
    places = [f"{ordinal(rank)} {lane}" for lane, rank in told if rank is not None]
    near = [] if hit.similarity is None else [f"similarity {hit.similarity:.2f}"]
    return [*places, *near]


# What somebody looks for, as the address of a page has it.

Way = Literal["hybrid", "vector", "text", "graph"]
Kind = Literal["", "passage", "image"]
USUAL: Final = "hybrid"
WAYS: Final[dict[Way, str]] = {
    "hybrid": "meaning and words",
    "vector": "meaning",
    "text": "words",
    "graph": "meaning, words and the graph",
}
KINDS: Final[dict[Kind, str]] = {"": "text and pictures", "passage": "text", "image": "pictures"}
PAGE_SIZE: Final = 10
MAX_CHARACTERS: Final = 2000
"""Of a question in an address; what is longer is for REST."""


@dataclass(frozen=True, slots=True)
class Question:
    text: str = ""
    ontology: str = ""
    way: Way = USUAL
    kind: Kind = ""
    where: tuple[str, ...] = ()
    """Conditions, each on one line: `date>=2025-01-01`."""
    judging: bool = False

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()

    def as_search(self, limit: int = PAGE_SIZE, cursor: str | None = None) -> SourceSearch:
        """Return the search that answers the question; raise RequestValidationError if it is wrong."""
        asked = {
            "query_text": self.text,
            "ontology": self.ontology or None,
            "mode": USUAL if self.way == "graph" else self.way,
            "graph": self.way == "graph",
            "kinds": [self.kind] if self.kind else None,
            "where": list(self.where) or None,
            "limit": limit,
            "cursor": cursor,
            "include_concepts": True,
        }
        return valid(SourceSearch, asked)

    def parameters(self) -> dict[str, Value]:
        way = "" if self.way == USUAL else self.way
        return {
            "q": self.text,
            "ontology": self.ontology,
            "mode": way,
            "kind": self.kind,
            "where": self.where,
            "judging": 1 if self.judging else None,
        }

    def address(self, cursor: str | None = None, seen: int | None = None) -> str:
        """Return the page of the hits behind a cursor, of which `seen` were shown; without one, the first."""
        return address("/ui/search", **self.parameters(), cursor=cursor, seen=seen)

    def adding(self, condition: str) -> Question:
        return replace(self, where=(*(each for each in self.where if each != condition), condition))

    def to_judge(self, judging: bool) -> Question:
        return replace(self, judging=judging)

    def without(self, condition: str) -> Question:
        return replace(self, where=tuple(each for each in self.where if each != condition))


def words_of_way(label: str) -> str:
    """A run's label in the words of the search page where it is a mode, also with a number: `text (2)`."""
    mode, mark, number = label.partition(" (")
    return f"{WAYS.get(cast('Way', mode), mode)}{mark}{number}"


def address_of_measured(result: EvalResult, text: str | None) -> str | None:
    """Return the search that asks as a run did; None if its text is not known, or too long."""
    if text is None or len(text) > MAX_CHARACTERS:
        return None
    mode = result.config.get("mode")
    way = mode if isinstance(mode, str) and mode in WAYS else USUAL
    return Question(text, ontology_of(result) or "", way).address()


def address_of_hit(question: Question, hit: SourceHit, number: int) -> str:
    """Return where a hit is read; `number` is its place among the hits, from 1."""
    shown = {"at": hit.paragraph, "hit": number if number <= MAX_LIMIT else None, **question.parameters()}
    return f"{address(below('/ui/read', hit.document_id), **shown)}#p{hit.paragraph}"


async def _asked(
    q: Annotated[str, Query(max_length=MAX_CHARACTERS)] = "",
    ontology: Annotated[str, Query(max_length=1000)] = "",
    mode: Way | Literal[""] = USUAL,
    kind: Kind = "",
    where: Annotated[list[str] | None, Query()] = None,
    *,
    judging: bool = False,
) -> Question:
    conditions = tuple(each for each in where or () if each.strip())
    return Question(q, ontology, mode or USUAL, kind, conditions, judging)


AskedQuestion = Annotated[Question, Depends(_asked)]

# What addresses and forms of several pages hold.

Named = Annotated[str, Query(max_length=1000)]
FormText = Annotated[str, Form(max_length=10_000)]
Tick = Annotated[bool, Form()]


# Templates become pages. What documents, names and questions hold is text there, never markup.

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
_FUNCTIONS = (address, below, address_of_hit, address_of_measured, viewer, may, condition_of)
_FILTERS = (count, day, duration, moment, pace, share, time_left, as_text, excerpt, reasons, opening)
_globals: dict[str, Any] = {"version": __version__, "asset": address_of}
_globals |= {each.__name__: each for each in _FUNCTIONS}
_filters: dict[str, Any] = {"pieces": pieces_of, "ties": describe_ties, "way": words_of_way}
_filters |= {each.__name__: each for each in _FILTERS}
_templates.globals.update(_globals)
_templates.filters.update(_filters)


def lead_to(request: Request, done: BaseModel, page: str) -> Response:
    note_outcome(request, done)
    return RedirectResponse(page, 303)


def wants_part(request: Request) -> bool:
    """Whether htmx asks, which puts what comes into the page that is there."""
    headers = request.headers
    return headers.get("HX-Request") == "true" and headers.get("HX-History-Restore-Request") != "true"


def render(template: str, shown: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    """Return a page or a part of one; `shown` holds what its template shows, by names."""
    page = _templates.get_template(template).render(shown)
    return HTMLResponse(page_below_prefix(page), status, HEADERS)


def render_pieces(template: str, shown: Mapping[str, Any]) -> Iterator[str]:
    """Yield a page piece by piece, as what it shows comes; it is sent with `HEADERS`."""
    return pieces_below_prefix(_templates.get_template(template).generate(shown))
