"""Pictures as a person reads of them."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.markup import escape
from rich.text import Text

from kg_api.errors import Conflict, InvalidInput
from kg_api.models.queries.places import ImagePage, Place
from kg_cli.terminal import console

STDOUT = Path("-")
MAX_WORDS = 200
_KILO = 1000


def print_images(page: ImagePage, *, offset: int) -> None:
    """Print a page of pictures, and how to see the next."""
    console.note(*page.notes)
    if page.images:
        console.print_table(["picture", "size"], [[_name(each), _size(each)] for each in page.images])
    elif page.total:
        console.say(f"There are {page.total} here; none from {offset} on")
    elif not page.notes:
        console.say("There are no pictures here; `kg ingest` takes PNG, JPEG, WebP, GIF, TIFF and BMP.")
    shown = len(page.images)
    if page.total > offset + shown:
        console.say(f"{shown} of {page.total} shown; go on with --offset {offset + shown}")


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
