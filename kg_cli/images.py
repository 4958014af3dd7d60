"""Pictures: which there are, what is known of one, and its file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kg_cli.search.images import pictures_for, pictures_passages, search_images
from kg_cli.terminal.connect import (
    JsonOption,
    OffsetOption,
    OnlyOntologyOption,
    PageOption,
    open_client,
    report,
)

group = typer.Typer(help="Pictures: list, show, save and find them.", no_args_is_help=True)

ImageArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Id of its source, as `kg images list` shows it; 8 digits do.")
]


@group.command("list")
def list_images(
    *,
    ontology: OnlyOntologyOption = None,
    offset: OffsetOption = 0,
    limit: PageOption = 100,
    as_json: JsonOption = False,
) -> None:
    """List pictures by ontology and document.

    Example: kg images list --ontology holidays
    """
    from kg_cli.search.image_views import print_images

    report(
        lambda kg: kg.images(ontology, offset=offset, limit=limit),
        partial(print_images, offset=offset),
        as_json=as_json,
    )


@group.command()
def show(image: ImageArgument, *, as_json: JsonOption = False) -> None:
    """Show what is known of a picture, and the words that it is found by.

    Example: kg images show 1f0c5a77
    """
    from kg_cli.search.image_views import print_image

    report(lambda kg: kg.source(image), print_image, as_json=as_json)


@group.command()
def save(
    image: ImageArgument,
    to: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; - for standard output.")],
    *,
    thumbnail: Annotated[
        bool, typer.Option("--thumbnail", help="As WebP, of at most 256 pixels a side.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it is there.")] = False,
) -> None:
    """Save a picture to a file.

    Example: kg images save 1f0c5a77 boat.jpg
    """
    from kg_cli.search.image_views import write_file

    with open_client() as client:
        content = client.thumbnail(image) if thumbnail else client.image(image)
    write_file(content, to, force=force)


group.command("search")(search_images)
group.command("passages")(pictures_passages)
group.command("for")(pictures_for)
