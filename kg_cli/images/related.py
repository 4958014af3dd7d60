"""Passages that go with a picture, and pictures that go with a passage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from kg_api.models.vocabulary import SourceKind
from kg_cli.search.options import without_place
from kg_cli.terminal.answers import report
from kg_cli.terminal.options import JsonOption, LimitOption, OnlyOntologiesOption, WhereOption

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
    from kg_cli.images.related_views import print_related

    report(
        lambda kg: kg.related_sources(
            without_place(source),
            kinds=[kind],
            ontology=ontology,
            where=where,
            same_document=same_document,
            limit=limit,
        ),
        print_related,
        as_json=as_json,
    )
