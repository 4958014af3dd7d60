"""`kg images`: list, save and find images, and find their passages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kg_api.errors import Conflict, InvalidInput
from kg_api.wording import pluralize, shorten
from kg_cli.search.views import print_passage
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import Table, command, make_group, note_all, short_id
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import argument, option

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.schemas.image_search import ImageHit, ImageHits, RelatedSources, RelatedThrough
    from kg_api.schemas.search import Place

group = make_group("Images: list, save and find them.")

MAX_WORDS = 80
LANES = {"picture_space": "their pixels", "words": "their text", "concepts": "concepts"}


def _format_size(place: Place) -> str:
    image = place.image
    if image is None:
        return ""
    kind = image.content_type.removeprefix("image/")
    return f"{image.width} x {image.height}, {kind}, {max(1, image.bytes // 1000):,} kB"


@command(
    group,
    "list",
    asks="images",
    show=Table(
        "images",
        {
            "image": lambda each: f"{each.ontology} / {each.document}",
            "text": lambda each: shorten(" ".join(each.full_text.split()), MAX_WORDS),
            "size": _format_size,
            "id": short_id("source_id"),
        },
        noun=("image",),
        empty="No images. `kg ingest` reads PNG, JPEG, WebP, GIF, TIFF and BMP.",
    ),
)
def list_images(
    *, ontology: options.OnlyOntology = None, offset: options.Offset = 0, limit: options.Page = 100
) -> None:
    """List images by ontology and document.

    Example: kg images list --ontology holidays
    """


@group.command()
def save(
    image: Annotated[str, argument("Id of the image, or its first 8 digits.", metavar="ID")],
    to: Annotated[Path, argument("File to write to. Use - to write to standard output.", metavar="FILE")],
    *,
    thumbnail: Annotated[bool, option("Save a WebP thumbnail of at most 256 pixels.", "--thumbnail")] = False,
    force: Annotated[bool, option("Overwrite an existing file.", "--force")] = False,
) -> None:
    """Save an image to a file.

    Example: kg images save 1f0c5a77 boat.jpg
    """
    with open_client() as client:
        content = client.thumbnail(image) if thumbnail else client.image(image)
    write_file(content, to, force=force)


def write_file(content: bytes, to: Path, *, force: bool) -> None:
    if to == console.STDIN:
        sys.stdout.buffer.write(content)
        return
    try:
        with to.open("wb" if force else "xb") as file:
            file.write(content)
    except FileExistsError:
        raise Conflict(f"{to} exists: --force overwrites it") from None
    except OSError as error:
        raise InvalidInput(f"{to} cannot be written: {error.strerror or error}") from None
    console.say(f"{to}: {len(content):,} bytes")


def print_found(answer: ImageHits) -> None:
    note_all(answer)
    for number, each in enumerate(answer.images, start=1):
        print_passage(number, each, each.full_text, identity=each.source_id, notes=_list_reasons(each))
    by = f" by {', '.join(LANES[each] for each in answer.by)}" if answer.by else ""
    how = " Save one: kg images save ID FILE" if answer.images else ""
    found = pluralize(len(answer.images), "image")
    console.say(f"{found}{by} in {answer.timings_ms['total']:.0f} ms.{how}")


def _list_reasons(each: ImageHit) -> Iterator[str]:
    for way in each.through:
        lane = LANES[way.lane]
        if way.lane == "words":  # vector search and full-text search both use the text
            lane += ", by vector search" if way.space else ", by full text"
        rank = "" if way.rank is None else f", {way.rank}."
        yield f"{lane}{rank}" + ("" if way.similarity is None else f" ({way.similarity:.2f})")


@command(group, "search", show=print_found)
def search_images(
    kg: KgClient,
    query: Annotated[str | None, argument("Text to search for.")] = None,
    *,
    image: Annotated[Path | None, option("Find images that look like this file.", metavar="FILE")] = None,
    like: Annotated[str | None, option("Find images that look like this image.", metavar="ID")] = None,
    ontology: options.OnlyOntologies = None,
    documents: options.OnlyDocuments = None,
    where: options.Where = None,
    limit: options.Limit = 10,
    min_similarity: options.Similarity = None,
) -> Any:
    """Find images by text, by a file, or by a stored image.

    Example: kg images search "red boat"
        kg images search --image boat.jpg --limit 5
        kg images search --like 1f0c5a77
    """
    if sum(each is not None for each in (query, image, like)) != 1:
        raise typer.BadParameter("give words, --image FILE or --like ID, one of them")
    within = {"ontology": ontology, "documents": documents, "where": where}
    scope: dict[str, Any] = {**within, "limit": limit, "min_similarity": min_similarity}
    if image is not None:
        return search_by_image(kg, image, **scope)
    return kg.search_images(query, source_id=like and options.without_place(like), **scope)


def search_by_image(kg: KgClient, image: Path, **scope: Any) -> ImageHits:
    try:
        content = image.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{image} cannot be read: {error.strerror or error}") from None
    return kg.search_by_image(content, **scope)


def print_related(answer: RelatedSources) -> None:
    note_all(answer)
    noun = "image" if answer.kinds == ["image"] else "passage"
    for number, each in enumerate(answer.sources, start=1):
        notes = map(_describe_path, each.through)
        print_passage(number, each, each.full_text, identity=each.source_id, notes=notes)
    own = f"{answer.source.ontology} / {answer.source.document} ¶{answer.source.paragraph}"
    took = f"{answer.timings_ms['total']:.0f} ms"
    console.say(f"{pluralize(len(answer.sources), noun)} for {own} in {took}.")


def _describe_path(way: RelatedThrough) -> str:
    measure = "" if way.similarity is None else f" ({way.similarity:.2f})"
    match way.lane:
        case "document":
            return f"{pluralize(way.distance or 0, 'paragraph')} away in its document"
        case "concepts":
            return f"concepts: {', '.join(each.label for each in way.concepts)}"
        case "words":
            return f"similar text{measure}"
        case "picture_space":
            return f"similar pixels{measure}"
        case "link":
            return f"linked by a person{measure}"


@command(group, "related", asks="related_sources", show=print_related)
def find_related(
    source_id: Annotated[
        str,
        argument("Source id, or ONTOLOGY/DOCUMENT#PARAGRAPH.", metavar="ID", callback=options.without_place),
    ],
    *,
    ontology: options.OnlyOntologies = None,
    where: options.Where = None,
    same_document: Annotated[
        bool, option("Only return sources from the same document.", "--same-document")
    ] = False,
    limit: options.Limit = 10,
) -> None:
    """Find passages for an image, or images for a passage: next to it, by concepts, and by text.

    Example: kg images related 1f0c5a77 --limit 5
        kg images related notes/harbours.epub#3
    """
