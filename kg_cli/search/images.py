"""Pictures: which there are, what is known of one, its file, and what goes with it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kg_api.schemas.vocabulary import SourceKind
from kg_cli.terminal.connect import (
    JsonOption,
    LimitOption,
    OffsetOption,
    OnlyDocumentsOption,
    OnlyOntologiesOption,
    OnlyOntologyOption,
    PageOption,
    WhereOption,
    open_client,
    report,
)
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from kg_cli.search import views
else:
    views = LateModule("kg_cli.search.views")

group = typer.Typer(help="Pictures: list, show, save and find them.", no_args_is_help=True)

ImageArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Id of its source, as `kg images list` shows it; 8 digits do.")
]
SourceArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Id of a source, or ONTOLOGY/DOCUMENT#PARAGRAPH.")
]
SameDocumentOption = Annotated[
    bool, typer.Option("--same-document", help="Only in the document in which it stands.")
]
SimilarityOption = Annotated[float | None, typer.Option(min=-1, max=1, help="Minimum cosine similarity.")]


def without_place(citation: str) -> str:
    """What a citation is of: the source's id; a name may have a `#` of its own."""
    return re.sub(r"#\d+-\d+$", "", citation)


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
    report(lambda kg: kg.images(ontology, offset=offset, limit=limit), views.print_images, as_json=as_json)


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


ImageFileOption = Annotated[
    Path | None, typer.Option("--image", metavar="FILE", help="Find pictures that look like this file.")
]
WITH_IMAGE = frozenset({"image", "ontology", "document", "where", "limit", "min_similarity", "as_json"})
"""Options that go with a picture to look for."""


@group.command("search")
def search_images(
    query: Annotated[str | None, typer.Argument(help="What to look for, in plain words.")] = None,
    *,
    image: ImageFileOption = None,
    like: Annotated[
        str | None, typer.Option("--like", metavar="ID", help="Find pictures that look like a stored one.")
    ] = None,
    ontology: OnlyOntologiesOption = None,
    document: OnlyDocumentsOption = None,
    where: WhereOption = None,
    limit: LimitOption = 10,
    min_similarity: SimilarityOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find pictures by words, by a file, or by a stored picture.

    Example: kg images search "red boat"
        kg images search --image boat.jpg --limit 5
        kg images search --like 1f0c5a77
    """
    if sum(each is not None for each in (query, image, like)) != 1:
        raise typer.BadParameter("give words, --image FILE or --like ID, one of them")
    within = {"ontology": ontology, "documents": document, "where": where}
    scope: dict[str, Any] = {**within, "limit": limit, "min_similarity": min_similarity}
    if image is not None:
        report_like(image, as_json=as_json, **scope)
        return
    source_id = None if like is None else without_place(like)
    report(
        lambda kg: kg.search_images(query, source_id=source_id, **scope), views.print_found, as_json=as_json
    )


def report_like(image: Path, *, as_json: bool, **scope: Any) -> None:
    """Search by a file, and print what was found.

    Raises:
        BadParameter: the file cannot be read.
    """
    try:
        content = image.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{image} cannot be read: {error.strerror or error}") from None
    report(lambda kg: kg.search_by_image(content, **scope), views.print_found, as_json=as_json)


def require_only(context: typer.Context) -> None:
    """Refuse options of a search that say nothing of a search by a picture.

    Raises:
        BadParameter: naming one.
    """
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and name not in WITH_IMAGE:
            raise typer.BadParameter(f"{name.replace('_', '-')} does not go with --image")


@group.command("passages")
def pictures_passages(
    image: SourceArgument,
    *,
    ontology: OnlyOntologiesOption = None,
    where: WhereOption = None,
    same_document: SameDocumentOption = False,
    limit: LimitOption = 10,
    as_json: JsonOption = False,
) -> None:
    """Find passages that go with a picture: beside it, by concepts, and by words.

    Example: kg images passages 1f0c5a77 --limit 5
    """
    scope = {"ontology": ontology, "where": where, "same_document": same_document, "limit": limit}
    _report_related("passage", image, as_json=as_json, **scope)


@group.command("for")
def pictures_for(
    passage: SourceArgument,
    *,
    ontology: OnlyOntologiesOption = None,
    where: WhereOption = None,
    same_document: SameDocumentOption = False,
    limit: LimitOption = 10,
    as_json: JsonOption = False,
) -> None:
    """Find pictures that go with a passage: beside it, by concepts, and by words.

    Example: kg images for notes/harbours.epub#3
    """
    scope = {"ontology": ontology, "where": where, "same_document": same_document, "limit": limit}
    _report_related("image", passage, as_json=as_json, **scope)


def _report_related(kind: SourceKind, source: str, *, as_json: bool, **scope: Any) -> None:
    report(
        lambda kg: kg.related_sources(without_place(source), kinds=[kind], **scope),
        views.print_related,
        as_json=as_json,
    )
