"""What goes with a picture or a passage, and pictures that were found, as a person reads it."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.markup import escape
from rich.text import Text

from kg_api.errors import Conflict, InvalidInput
from kg_api.schemas.image_search import (
    ImageHit,
    ImageHits,
    ImageThrough,
    RelatedSource,
    RelatedSources,
    RelatedThrough,
)
from kg_api.schemas.search import ImagePage, Place
from kg_api.schemas.vocabulary import ImageLane
from kg_api.wording import pluralize
from kg_cli.search.views import excerpt, title_of
from kg_cli.terminal import console


def print_related(answer: RelatedSources) -> None:
    """Print what goes with a source as a table, and what could not be done."""
    console.note(*(each.effect for each in answer.degraded))
    noun = "picture" if answer.kinds == ["image"] else "passage"
    rows = [_row(number, each) for number, each in enumerate(answer.sources, start=1)]
    if rows:
        console.print_table(["#", noun], rows)
    own = escape(f"{answer.source.ontology} / {answer.source.document} ¶{answer.source.paragraph}")
    took = f"{answer.timings_ms['total']:.0f} ms"
    console.say(f"{pluralize(len(rows), noun)} for {own} in {took}.")


def _row(number: int, each: RelatedSource) -> list[str | Text]:
    told = Text("".join(f"\n{_through(way)}" for way in each.through), style="yellow")
    return [
        str(number),
        title_of(each) + excerpt(each.full_text) + told + Text(f"\n{each.source_id}\n", style="dim"),
    ]


def _through(way: RelatedThrough) -> str:
    match way.lane:
        case "document":
            return f"{pluralize(way.distance or 0, 'paragraph')} away in its document"
        case "concepts":
            return f"concepts: {', '.join(each.label for each in way.concepts)}"
        case "words":
            return "near in words" + _measure(way)
        case "picture_space":
            return "the picture itself is near" + _measure(way)
        case "link":
            return "somebody linked them" + _measure(way)


def _measure(way: RelatedThrough) -> str:
    return "" if way.similarity is None else f" ({way.similarity:.2f})"


def print_found(answer: ImageHits) -> None:
    """Print pictures that were found as a table, and what could not be done."""
    console.note(*(each.effect for each in answer.degraded), *([answer.note] if answer.note else []))
    rows = [_found(number, each) for number, each in enumerate(answer.images, start=1)]
    if rows:
        console.print_table(["#", "picture"], rows)
    by = f" by {', '.join(_WAYS[each] for each in answer.by)}" if answer.by else ""
    save = " Save one: kg images save ID FILE" if rows else ""
    console.say(f"{pluralize(len(rows), 'picture')}{by} in {answer.timings_ms['total']:.0f} ms.{save}")


_WAYS: dict[ImageLane, str] = {
    "picture_space": "what they show",
    "words": "their words",
    "concepts": "concepts",
    "perceptual_hash": "how they look",
}


def _found(number: int, each: ImageHit) -> list[str | Text]:
    told = "".join(f"\n{_way(way)}{_place(way)}" for way in each.through)
    same = "\nlooks nearly the same" if each.near_duplicate else ""
    return [
        str(number),
        title_of(each)
        + excerpt(each.full_text)
        + Text(told + same, style="yellow")
        + Text(f"\n{each.source_id}\n", style="dim"),
    ]


def _way(way: ImageThrough) -> str:
    """How it was found; vectors and full text both go by words."""
    if way.lane == "words":
        return "their words, by meaning" if way.space else "their words, by full text"
    return _WAYS[way.lane]


def _place(way: ImageThrough) -> str:
    rank = "" if way.rank is None else f", {way.rank}."
    return rank if way.similarity is None else f"{rank} ({way.similarity:.2f})"


# Pictures as a person reads of them.

STDOUT = Path("-")
MAX_WORDS = 200
_KILO = 1000


def print_images(page: ImagePage) -> None:
    """Print a page of pictures, and how to see the next."""
    console.note(*page.notes)
    if page.images:
        console.print_table(["picture", "size"], [[_name(each), _size(each)] for each in page.images])
    elif page.total:
        console.say(f"There are {page.total} here; none from {page.offset} on")
    elif not page.notes:
        console.say("There are no pictures here; `kg ingest` takes PNG, JPEG, WebP, GIF, TIFF and BMP.")
    if page.images:
        console.say_rest(page, len(page.images), "picture")


def print_image(place: Place) -> None:
    """Print what is known of one.

    Raises:
        InvalidInput: it is a passage of text.
    """
    if place.image is None:
        raise InvalidInput(
            f"{place.source_id} is a passage of text, not a picture: kg show {place.source_id}"
        )
    rows = [
        ["picture", f"{place.ontology} / {place.document}"],
        ["id", place.source_id],
        ["kind", place.image.content_type],
        ["size", _size(place)],
        ["storage key", place.image.storage_key],
        ["perceptual hash", place.image.perceptual_hash],
    ]
    console.print_table(["", ""], rows)
    console.stdout().print(Text(place.full_text.strip()))


def write_file(content: bytes, to: Path, *, force: bool) -> None:
    """Write a picture where it is wanted.

    Raises:
        Conflict: there is a file of that name.
        InvalidInput: it cannot be written.
    """
    if to == STDOUT:
        sys.stdout.buffer.write(content)
        return
    try:
        with to.open("wb" if force else "xb") as file:
            file.write(content)
    except FileExistsError:
        raise Conflict(f"{to} is there already: --force overwrites it") from None
    except OSError as error:
        raise InvalidInput(f"{to} cannot be written: {error.strerror or error}") from None
    console.say(escape(f"{to}: {len(content):,} bytes"))


def _name(place: Place) -> Text:
    words = " ".join(place.full_text.split())[:MAX_WORDS]
    name = (f"{place.ontology} / {place.document}", "bold")
    return Text.assemble(name, f"\n{words}", (f"\n{place.source_id}\n", "dim"))


def _size(place: Place) -> str:
    image = place.image
    if image is None:
        return ""
    kind = image.content_type.removeprefix("image/")
    return f"{image.width} x {image.height}\n{kind}, {max(1, image.bytes // _KILO):,} kB"
