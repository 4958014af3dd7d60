"""Assets, filters, excerpts, questions, and templates that pages share."""

from __future__ import annotations

import gzip
import hashlib
import math
import re
import shlex
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
from markupsafe import Markup, escape
from pydantic import BaseModel

from kg_api import __version__
from kg_api.errors import NotFound
from kg_api.evaluation.saved import get_result_ontology
from kg_api.schemas.evaluation import EvalResult
from kg_api.schemas.filters import OF_TIME, PAGE, parse_conditions
from kg_api.schemas.search import Place, SourceHit, SourceSearch, WordMatch
from kg_api.schemas.vocabulary import MAX_LIMIT
from kg_api.web.shared.forwarded import prefix_page, prefix_pieces
from kg_api.web.shared.limits import validate
from kg_api.web.shared.routes import GuardedRoute
from kg_api.web.shared.scopes import public
from kg_api.web.shared.security import may, note_outcome, viewer
from kg_api.web.ui.drawing import describe_ties, opening
from kg_api.web.ui.links import Value, address, below
from kg_api.web.ui.markdown import render_markdown
from kg_api.wording import find_letter_start

FOLDER: Final = Path(__file__).parent / "static"
PREFIX: Final = "/ui/assets/"
SHOWN: Final = frozenset({".js", ".css", ".svg"})
FOR_GOOD: Final = "public, max-age=31536000, immutable"
"""Cache-Control for assets. This is possible because their URLs contain a hash."""

router = APIRouter(include_in_schema=False, route_class=GuardedRoute)


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    packed: bytes
    media_type: str
    digest: str


@cache
def _read_assets() -> dict[str, Asset]:
    assets: dict[str, Asset] = {}
    for path in sorted(each for each in FOLDER.rglob("*") if each.suffix in SHOWN):
        content = path.read_bytes()
        media_type = guess_type(path.name)[0] or "application/octet-stream"
        digest = hashlib.sha256(content).hexdigest()[:16]
        assets[path.name] = Asset(content, gzip.compress(content, mtime=0), media_type, digest)
    return assets


def get_asset_url(name: str) -> str:
    return f"{PREFIX}{_read_assets()[name].digest}/{name}"


@router.get(PREFIX + "{digest}/{name}")
@public()
async def get_asset(request: Request, digest: str, name: str) -> Response:
    """Get an asset from memory. 404 for another version."""
    found = _read_assets().get(name)
    if found is None or found.digest != digest:
        raise NotFound(f"asset {name[:100]!r} has another version. Reload the page.")
    headers = {"Cache-Control": FOR_GOOD, "Vary": "Accept-Encoding", "X-Content-Type-Options": "nosniff"}
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(found.packed, media_type=found.media_type, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)


# Filter conditions in links

ORDERED: Final = (">=", "<=")


FieldValue = str | int | float | bool


def write_condition(field: str, values: Sequence[FieldValue]) -> str | None:
    """Write the condition on a field with one of the values. None if one line cannot express it."""
    op, wanted = ("=", values[0]) if len(values) == 1 else ("in", [*values])
    written = f"{_quote(field)}{'=' if op == '=' else ' in '}{','.join(map(_write_value, values))}"
    try:
        is_same = parse_conditions(written) == {"field": field, "op": op, "value": wanted}
    except ValueError:
        return None
    return written if is_same else None


def read_choice(condition: str) -> tuple[str, list[FieldValue]] | None:
    """Read the field and the values of a condition with `=` or `in`. None for other conditions."""
    try:
        read = parse_conditions(condition)
    except ValueError:
        return None
    if read.get("op") not in {"=", "in"}:
        return None
    return read["field"], read["value"] if read["op"] == "in" else [read["value"]]


def list_condition_prefixes(fields: Sequence[str]) -> list[str]:
    """List prefixes to write conditions on the fields, with `>=` and `<=` if they are ordered."""
    prefixes = [
        (each, sign) for each in fields for sign in ("=", *(ORDERED if each in (*OF_TIME, PAGE) else ()))
    ]
    return [f"{_quote(field)}{sign}" for field, sign in prefixes if _can_be_named(field)]


def _can_be_named(field: str) -> bool:
    """Check if a condition can name the field. A name with both kinds of quotes cannot."""
    try:
        return parse_conditions(f"{_quote(field)}=1").get("field") == field
    except ValueError:
        return False


def _write_value(value: FieldValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return str(value)
    simple = value.replace("-", "").replace("_", "").isalpha() and value.lower() not in {"true", "false"}
    return value if simple else f'"{value}"' if "'" in value else f"'{value}'"


def _quote(field: str) -> str:
    plain = all(each.isalnum() or each in "_-." for each in field)
    return field if field and plain else f"'{field}'"


# Formats of numbers and times

_CODE: Final = re.compile("`([^`]+)`")


def count(number: int, one: str, many: str | None = None) -> str:
    """Format a number with its noun: `1 document`, `1,200 documents`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def sentence(message: str) -> Markup:
    """Format a message of kg: a full stop, a capital letter except in `kg` or a name, and code as code."""
    is_word = (first := message.partition(" ")[0]).isalpha() and first != "kg"
    text = f"{message[:1].upper() if is_word else message[:1]}{message[1:].rstrip('.')}."
    escaped = str(escape(text))  # a substitution in Markup escapes the tags
    return Markup(_CODE.sub(r"<code>\1</code>", escaped))  # noqa: S704 - escaped


def share(part: float) -> str:
    """Format a share in percent. 100 % and 0 % are exact."""
    percent = part * 100
    rounded = min(99, max(1, round(percent))) if 0 < percent < 100 else round(percent)  # noqa: PLR2004 - per cent
    return f"{rounded} %"


def duration(seconds: int) -> str:
    """Format a duration in the largest unit that fits: `90 seconds`, `5 minutes`, `1 hour`, `2 days`."""
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds and seconds % size == 0:
            return count(seconds // size, unit)
    return count(seconds, "second")


def pace(items_a_second: float) -> str:
    """Format a rate, so that it is one or more: `12 a second`, `24 a minute`, `20 an hour`."""
    for seconds, unit in ((1, "a second"), (60, "a minute")):
        if items_a_second * seconds >= 1:
            return f"{_format_two_digits(items_a_second * seconds)} {unit}"
    return f"{_format_two_digits(items_a_second * 3600)} an hour"


def _format_two_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"  # noqa: PLR2004 - both digits are visible from here on


def time_left(seconds: float) -> str:
    """Format the time that is left, rounded up: `about 40 seconds`, `about 3 minutes`."""
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"about {count(math.ceil(seconds / size), unit)}"
    return f"about {count(max(1, math.ceil(seconds)), 'second')}"


def moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M")


def as_text(given: object) -> str:
    """Format a metadata value as text. A list uses commas, and null is empty."""
    if isinstance(given, list | tuple):
        return ", ".join(filter(None, map(as_text, cast("list[object]", given))))
    return "" if given is None else str(given)


def as_lines(given: object) -> list[str]:
    """List the texts in a metadata value, one for each element in a list."""
    values = cast("list[object]", given) if isinstance(given, list) else [given]
    return [str(each).lower() if isinstance(each, bool) else str(each) for each in values if each is not None]


def day(given: object) -> str:
    """Get the day from a date or time. If this is a list, use the first value."""
    return given.isoformat()[:10] if isinstance(given, date) else as_text(given).partition(",")[0][:10]


# Excerpts of passages with highlighted keywords

SHOWN_CHARACTERS: Final = 500
"""Maximum length of an excerpt. You can see the whole passage on the reading page."""
BEFORE: Final = 120
"""Number of characters to show before the first match."""


class MarkedPiece(NamedTuple):
    text: str
    matched: bool


class Excerpt(NamedTuple):
    pieces: list[MarkedPiece]
    cut_before: bool
    cut_after: bool


def split_by_marks(
    text: str, matches: Sequence[WordMatch], start: int = 0, end: int | None = None
) -> list[MarkedPiece]:
    """Split a text from `start` to `end`, split at the matches. Offsets are code points."""
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
    """Show a short passage, or the text around the first match in a long passage."""
    text = hit.full_text
    if len(text) <= SHOWN_CHARACTERS:
        return Excerpt(split_by_marks(text, hit.matches), cut_before=False, cut_after=False)
    first = min((each.start for each in hit.matches), default=0)
    # Start and end at a space, if one is near
    at = min(max(0, first - BEFORE), len(text) - SHOWN_CHARACTERS)
    space = text.find(" ", at, at + BEFORE // 2) if at else -1
    start = find_letter_start(text, at) if space < 0 else space + 1
    end = find_letter_start(text, min(len(text), start + SHOWN_CHARACTERS))
    if end < len(text) and (space := text.rfind(" ", end - BEFORE // 2, end)) > 0:
        end = space
    return Excerpt(split_by_marks(text, hit.matches, start, end), start > 0, end < len(text))


def reasons(hit: SourceHit) -> list[str]:
    reasons = [("semantic", hit.ranks.vector), ("keyword", hit.ranks.text)]
    reasons += [("by concepts", hit.ranks.concepts), ("by appearance", hit.ranks.pictures)]
    places = [f"{lane} rank {rank:,}" for lane, rank in reasons if rank is not None]
    near = [] if hit.similarity is None else [f"similarity {hit.similarity:.2f}"]
    return [*places, *near]


# Questions in URLs of pages

Way = Literal["hybrid", "vector", "text", "graph"]
Kind = Literal["", "passage", "image"]
USUAL: Final = "hybrid"
WAYS: Final[dict[Way, str]] = {
    "hybrid": "Semantic and keyword",
    "vector": "Semantic",
    "text": "Keyword",
    "graph": "Semantic, keyword, and graph",
}
KINDS: Final[dict[Kind, str]] = {"": "Text and images", "passage": "Text", "image": "Images"}
PAGE_SIZE: Final = 10
MAX_CHARACTERS: Final = 2000
"""Maximum length of a query in a URL. To use a longer query, you need REST."""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    ontology: str = ""
    way: Way = USUAL
    kind: Kind = ""
    where: tuple[str, ...] = ()
    """Filters, one per line: `date>=2025-01-01`."""
    judging: bool = False

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()

    def as_search(self, limit: int = PAGE_SIZE, cursor: str | None = None, **more: Any) -> SourceSearch:
        """Build the search request. Raise RequestValidationError if this is not possible."""
        fields = {
            "query_text": self.text,
            "ontology": self.ontology or None,
            "mode": USUAL if self.way == "graph" else self.way,
            "graph": self.way == "graph",
            "kinds": [self.kind] if self.kind else None,
            "where": list(self.where) or None,
            "limit": limit,
            "cursor": cursor,
            "include_concepts": True,
            **more,
        }
        return validate(SourceSearch, fields)

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

    def command(self) -> str:
        """Return the search as a `kg` command."""
        mode = "" if self.way in {USUAL, "graph"} else self.way
        values = {"--ontology": self.ontology, "--mode": mode, "--kind": self.kind}
        options = [part for name, value in values.items() if value for part in (name, value)]
        options += ["--graph"] if self.way == "graph" else []
        options += [part for each in self.where for part in ("--where", each)]
        return shlex.join(["kg", "search", self.text, *options])

    def curl(self) -> str:
        """Show the search as the arguments of curl. The script in the page replaces `{origin}`."""
        body = self.as_search().model_dump_json(exclude_unset=True, exclude_none=True)
        sent = shlex.join(["-H", "Content-Type: application/json", "-d", body])
        return f"{{origin}}/queries/sources/search {sent}"

    def address(self, cursor: str | None = None, seen: int | None = None) -> str:
        """Build the URL for the results after a cursor, or for the first page. `seen` results are known."""
        return address("/ui/search", **self.parameters(), cursor=cursor, seen=seen)

    def chosen(self, field: str) -> list[FieldValue]:
        """List the values for a field that are allowed by the filters."""
        read = [choice for each in self.where if (choice := read_choice(each))]
        return [value for name, values in read if name == field for value in values]

    def open(self, field: str) -> Question:
        """Get the question, but remove the values that are chosen for a field."""
        choices = {each: read_choice(each) for each in self.where}
        return replace(
            self, where=tuple(each for each, read in choices.items() if not read or read[0] != field)
        )

    def toggle(self, field: str, value: FieldValue) -> Question | None:
        """Choose a value for a field, or remove it. None if this cannot be written in a line."""
        chosen, rest = self.chosen(field), self.open(field)
        values = [each for each in chosen if each != value] if value in chosen else [*chosen, value]
        if not values:
            return rest
        condition = write_condition(field, values)
        return None if condition is None else replace(rest, where=(*rest.where, condition))

    def to_judge(self, judging: bool) -> Question:
        return replace(self, judging=judging)

    def without(self, condition: str) -> Question:
        return replace(self, where=tuple(each for each in self.where if each != condition))


def words_of_way(label: str) -> str:
    """Get the label for a run. For search modes such as `text (2)`, use the label from the search page."""
    mode, mark, number = label.partition(" (")
    return f"{WAYS.get(cast('Way', mode), mode)}{mark}{number}"


def address_of_measured(result: EvalResult, text: str | None) -> str | None:
    """Build the URL to repeat a search from a run. None if its query is unknown or too long."""
    if text is None or len(text) > MAX_CHARACTERS:
        return None
    mode = result.config.get("mode")
    way = mode if isinstance(mode, str) and mode in WAYS else USUAL
    return Question(text, get_result_ontology(result) or "", way).address()


def address_of_hit(question: Question, hit: Place, number: int | None) -> str:
    """Build the URL to read a result. `number` is the rank from 1."""
    parameters = {
        "at": hit.paragraph,
        "hit": number if number and number <= MAX_LIMIT else None,
        **question.parameters(),
    }
    return f"{address(below('/ui/read', hit.document_id), **parameters)}#p{hit.paragraph}"


async def _parse_question(
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


AskedQuestion = Annotated[Question, Depends(_parse_question)]

Typing = Literal["", "keys", "pause"]
"""`keys`: after each key, keywords only. `pause`: when typing pauses. Both use the last word as a prefix."""

# Common parameters of pages and forms

Named = Annotated[str, Query(max_length=1000)]
FormText = Annotated[str, Form(max_length=10_000)]
Tick = Annotated[bool, Form()]


# Templates. They escape all texts of documents, names, and queries

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Vary": "HX-Request",
}
"""Headers for pages. Only own scripts and styles can be used, and other windows cannot control a page."""

_REORDERING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _show_reordering(value: Any) -> Any:
    """Replace control characters and characters that change the writing direction by `�`.

    A name such as `evil<U+202E>txt.md` would reorder the rest of its row. Marks for Arabic and Hebrew
    (U+200E, U+200F, U+061C) stay.
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
_FUNCTIONS = (address, below, address_of_hit, address_of_measured, viewer, may)
_FILTERS = (
    count,
    day,
    duration,
    moment,
    pace,
    sentence,
    share,
    time_left,
    as_lines,
    as_text,
    excerpt,
    reasons,
    opening,
)
_globals: dict[str, Any] = {"version": __version__, "asset": get_asset_url}
_globals |= {each.__name__: each for each in _FUNCTIONS}
_filters: dict[str, Any] = {
    "markdown": render_markdown,
    "shell": shlex.quote,
    "pieces": split_by_marks,
    "ties": describe_ties,
    "way": words_of_way,
}
_filters |= {each.__name__: each for each in _FILTERS}
_templates.globals.update(_globals)
_templates.filters.update(_filters)


def redirect_to_page(request: Request, done: BaseModel | Mapping[str, Any], page: str) -> Response:
    note_outcome(request, done)
    return RedirectResponse(page, 303)


def wants_part(request: Request) -> bool:
    """Check if htmx requests a part of the page."""
    headers = request.headers
    return headers.get("HX-Request") == "true" and headers.get("HX-History-Restore-Request") != "true"


def render(template: str, shown: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    """Render a page or a part of a page."""
    page = _templates.get_template(template).render(shown)
    return HTMLResponse(prefix_page(page), status, HEADERS)


def render_pieces(template: str, shown: Mapping[str, Any]) -> Iterator[str]:
    """Render a page in pieces as its content arrives. Send it with `HEADERS`."""
    return prefix_pieces(_templates.get_template(template).generate(shown))
