"""Pictures: which there are, what is known of one, and its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from kg_cli.search import image_views as views
else:
    views = LateModule("kg_cli.search.image_views")

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
    report(
        lambda kg: kg.images(ontology, offset=offset, limit=limit),
        views.print_images,
        as_json=as_json,
    )


@group.command()
def show(image: ImageArgument, *, as_json: JsonOption = False) -> None:
    """Show what is known of a picture, and the words that it is found by.

    Example: kg images show 1f0c5a77
    """
    report(lambda kg: kg.source(image), views.print_image, as_json=as_json)


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
    with open_client() as client:
        content = client.thumbnail(image) if thumbnail else client.image(image)
    views.write_file(content, to, force=force)


group.command("search")(search_images)
group.command("passages")(pictures_passages)
group.command("for")(pictures_for)
