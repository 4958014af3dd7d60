"""Passages that go with a picture, and pictures that go with a passage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kg_api.schemas.vocabulary import SourceKind
from kg_cli.search.options import SimilarityOption, without_place
from kg_cli.terminal.connect import (
    JsonOption,
    LimitOption,
    OnlyDocumentsOption,
    OnlyOntologiesOption,
    WhereOption,
    emit,
    open_client,
    report,
)
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from collections.abc import Callable

    from kg_api.client import KgClient
    from kg_api.schemas.image_search import ImageHits
    from kg_cli.search import image_views as views
else:
    views = LateModule("kg_cli.search.image_views")

SourceArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Id of a source, or ONTOLOGY/DOCUMENT#PARAGRAPH.")
]
SameDocumentOption = Annotated[
    bool, typer.Option("--same-document", help="Only in the document in which it stands.")
]


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
    _report("passage", image, ontology, where, same_document=same_document, limit=limit, as_json=as_json)


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
    _report("image", passage, ontology, where, same_document=same_document, limit=limit, as_json=as_json)


def _report(
    kind: SourceKind,
    source: str,
    ontology: Sequence[str] | None,
    where: Sequence[str] | None,
    *,
    same_document: bool,
    limit: int,
    as_json: bool,
) -> None:
    report(
        lambda kg: kg.related_sources(
            without_place(source),
            kinds=[kind],
            ontology=ontology,
            where=where,
            same_document=same_document,
            limit=limit,
        ),
        views.print_related,
        as_json=as_json,
    )


# Searching for pictures: by words, by a stored picture, or by a file.

ImageFileOption = Annotated[
    Path | None, typer.Option("--image", metavar="FILE", help="Find pictures that look like this file.")
]
WITH_IMAGE = frozenset({"image", "ontology", "document", "where", "limit", "min_similarity", "as_json"})
"""Options that go with a picture to look for."""


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
    scope: dict[str, Any] = {"ontology": ontology, "documents": document, "where": where, "limit": limit}
    scope["min_similarity"] = min_similarity
    if image is not None:
        report_like(image, as_json=as_json, **scope)
        return
    source_id = None if like is None else without_place(like)
    _report_searching(lambda kg: kg.search_images(query, source_id=source_id, **scope), as_json=as_json)


def report_like(image: Path, *, as_json: bool, **scope: Any) -> None:
    """Search by a file, and print what was found."""
    content = read_picture(image)
    _report_searching(lambda kg: kg.search_by_image(content, **scope), as_json=as_json)


def _report_searching(asking: Callable[[KgClient], ImageHits], *, as_json: bool) -> None:
    with open_client() as client:
        answer = asking(client)
    emit(answer, views.print_found, as_json=as_json)


def read_picture(path: Path) -> bytes:
    """A file's content.

    Raises:
        BadParameter: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be read: {error.strerror or error}") from None


def require_only(context: typer.Context) -> None:
    """Refuse options of a search that say nothing of a search by a picture.

    Raises:
        BadParameter: naming one.
    """
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and name not in WITH_IMAGE:
            raise typer.BadParameter(f"{name.replace('_', '-')} does not go with --image")
