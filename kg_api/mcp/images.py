"""Finding pictures, and showing them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import Field

from kg_api.errors import InvalidInput, NotFound
from kg_api.mcp.answers import InlineImage, Listing, Paged, Pager, Passage, ToolAnswer, called, cite
from kg_api.mcp.library import Library
from kg_api.mcp.tool import Tool
from kg_api.schemas.filters import Limit
from kg_api.schemas.image_search import ImageHit, ImageSearch, RelatedSearch, RelatedSource
from kg_api.schemas.problems import valid
from kg_api.schemas.search import Degradation
from kg_api.schemas.vocabulary import MAX_NAMES, MAX_QUERY_CHARACTERS
from kg_api.wording import pluralize

NAME = "search_images"
THUMBNAIL_TYPE: Final = "image/webp"
MAX_IMAGE_BYTES: Final = 2_000_000
USUAL_IMAGE_BYTES: Final = 200_000
DESCRIPTION = """\
Find pictures and see them (thumbnails behind the text): by words, or those that go with a passage or \
look like a picture.

`shown` of a hit is the number of its thumbnail. The words beside a picture may come from its document or \
file name: trust what you see."""


class ImageArguments(Paged):
    """What to find."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARACTERS)] | None = None
    """Words; or leave it out and give `like`."""
    like: Annotated[str, Field(min_length=1, max_length=1101)] | None = None
    """Citation or source id of a picture or a passage."""
    ontologies: Annotated[list[str], Field(min_length=1, max_length=MAX_NAMES)] | None = None
    """Only in these collections; unset: all."""
    where: list[str] | None = None
    """Conditions: `date>=2025-01-01`, `tags=oncall`, `page=2`, `kind=image`."""
    limit: Limit = 5
    """How many."""
    image_bytes: Annotated[int, Field(strict=True, ge=0, le=MAX_IMAGE_BYTES)] = USUAL_IMAGE_BYTES
    """Bytes of all thumbnails, as sent."""


class PictureHit(Passage):
    """A picture that was found; `text` are the words that stand for it."""

    ontology: str
    document: str
    heading: list[str] = Field(default_factory=list[str])
    """The headings above it, from the top."""
    page: int | None = None
    """On which it stands."""
    width: int
    height: int
    found_by: list[str]
    """How: what it shows (picture_space), words, concepts, looks, or its place in the document."""
    similarity: float | None = None
    """Cosine of the pictures, or of the question and the picture."""
    near_duplicate: bool | None = None
    """It looks nearly the same as the picture asked for."""
    shown: int | None = None
    """The number of its thumbnail, from 1; unset: none is sent."""


class ImageAnswer(ToolAnswer):
    """What was found."""

    note: str | None = None
    """That nothing is near the words, where that is so."""
    hits: list[PictureHit]
    """The best first."""
    not_shown: str | None = None
    """That thumbnails were left out, and how to see them."""


def search_images(library: Library, arguments: ImageArguments) -> ImageAnswer:
    """Find pictures.

    Raises:
        InvalidInput: neither or both of `query` and `like` are given.
    """
    if (arguments.query is None) == (arguments.like is None):
        raise InvalidInput("give `query` or `like`, one of them")
    walk = Pager(NAME, arguments)
    frame, hits = _find(library, arguments)
    listing = Listing(hits, [hit.citation for hit in hits], "pictures")
    frame.hits, frame.more = walk.step(frame, listing)
    _show(library, frame, arguments.image_bytes)
    return frame


def _find(library: Library, arguments: ImageArguments) -> tuple[ImageAnswer, list[PictureHit]]:
    same = {"ontology": arguments.ontologies, "where": arguments.where or None, "limit": arguments.limit}
    if arguments.like is None:
        asked = valid(ImageSearch, {"query_text": arguments.query, **same})
    else:
        source_id, _ = called(arguments.like)
        (own,) = library.context(source_id, 0).sources
        if own.kind == "passage":
            return _related(library, own.source_id, valid(RelatedSearch, {"kinds": ["image"], **same}))
        asked = valid(ImageSearch, {"source_id": own.source_id, **same})
    found = library.images(asked)
    return _frame(found.degraded, found.note), [_hit(each) for each in found.images]


def _related(library: Library, source_id: str, asked: RelatedSearch) -> tuple[ImageAnswer, list[PictureHit]]:
    found = library.related(source_id, asked)
    return _frame(found.degraded), [_hit(each) for each in found.sources]


def _frame(degraded: Sequence[Degradation], note: str | None = None) -> ImageAnswer:
    return ImageAnswer(hits=[], note=note, degraded=list(degraded))


def _hit(found: ImageHit | RelatedSource) -> PictureHit:
    similarities = [way.similarity for way in found.through if way.lane == "picture_space"]
    similarity = next((each for each in similarities if each is not None), None)
    return PictureHit(
        citation=cite(found.source_id, found.start, found.end),
        text=found.full_text,
        ontology=found.ontology,
        document=found.document,
        heading=found.heading,
        page=found.page,
        width=found.image.width if found.image else 0,
        height=found.image.height if found.image else 0,
        found_by=[*dict.fromkeys(way.lane for way in found.through)],
        similarity=None if similarity is None else round(similarity, 4),
        near_duplicate=(isinstance(found, ImageHit) and found.near_duplicate) or None,
    )


def _show(library: Library, answer: ImageAnswer, room: int) -> None:
    """Put thumbnails beside the hits, as far as there is room."""
    without_room = gone = 0
    for hit in answer.hits:
        content = _thumbnail(library, hit)
        size = len(b64encode(content)) if content else 0
        if content is None:
            gone += 1
        elif size > room:
            without_room += 1
        else:
            room -= size
            answer.shown.append(InlineImage(content, THUMBNAIL_TYPE))
            hit.shown = len(answer.shown)
    told: list[str] = []
    if without_room:
        told.append(f"{pluralize(without_room, 'thumbnail')} left out: ask for fewer, or raise image_bytes")
    if gone:
        told.append(f"{pluralize(gone, 'thumbnail')} could not be found in the store of pictures")
    answer.not_shown = "; ".join(told) or None


def _thumbnail(library: Library, hit: PictureHit) -> bytes | None:
    """None: it was deleted meanwhile, or the files are elsewhere."""
    try:
        return library.thumbnail(hit.citation.partition("#")[0])
    except NotFound:
        return None


TOOL = Tool(NAME, "Search pictures", DESCRIPTION, ImageArguments, ImageAnswer, search_images)
