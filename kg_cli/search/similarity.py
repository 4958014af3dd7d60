"""What is like a passage, and which passages are alike."""

from __future__ import annotations

from typing import Annotated

import typer

from kg_api.models.vocabulary import MAX_NEIGHBOURS, MAX_NODES, MAX_PAIRS
from kg_cli.search.options import ExactOption, SimilarityOption, without_place
from kg_cli.terminal.answers import emit
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import (
    JsonOption,
    LimitOption,
    OnlyDocumentsOption,
    OnlyOntologiesOption,
    WhereOption,
)

RepeatedOption = Annotated[
    bool, typer.Option("--repeated", help="Compare text that many documents repeat, too, such as a licence.")
]


def similar(
    source: Annotated[str, typer.Argument(help="Id of a source, or ONTOLOGY/DOCUMENT#PARAGRAPH.")],
    *,
    ontology: OnlyOntologiesOption = None,
    where: WhereOption = None,
    limit: LimitOption = 10,
    min_similarity: SimilarityOption = None,
    same_document: Annotated[
        bool, typer.Option("--same-document", help="Include the passage's own document.")
    ] = False,
    each: Annotated[
        bool, typer.Option("--each", help="List near-duplicates separately instead of grouped.")
    ] = False,
    exact: ExactOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find similar passages in other documents, across all ontologies.

    Example: kg similar 3f2a9c04 --limit 5 --where 'date>=2025'
        kg similar notes/install.md#3
    """
    from kg_cli.search.views.similarities import print_similar

    with open_client() as client:
        answer = client.similar_sources(
            without_place(source),
            ontology=ontology,
            where=where,
            limit=limit,
            min_similarity=min_similarity,
            same_document=same_document,
            group_duplicates=not each,
            exact=exact,
        )
    emit(answer, print_similar, as_json=as_json)


def similar_documents(
    document: Annotated[
        str, typer.Argument(help="Name, ONTOLOGY/NAME or id of a document, as `kg documents` gives it.")
    ],
    *,
    ontology: OnlyOntologiesOption = None,
    where: WhereOption = None,
    limit: LimitOption = 10,
    pairs: Annotated[int, typer.Option(min=1, max=MAX_PAIRS, help="Pairs of passages per document.")] = 3,
    min_similarity: SimilarityOption = None,
    repeated: RepeatedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find similar documents across all ontologies, and the passages that match.

    Example: kg similar-documents 7b1e9c... --limit 5
    """
    from kg_cli.search.views.similarities import print_documents

    with open_client() as client:
        answer = client.similar_documents(
            document,
            ontology=ontology,
            where=where,
            limit=limit,
            pairs=pairs,
            min_similarity=min_similarity,
            repeated=repeated,
        )
    emit(answer, print_documents, as_json=as_json)


def source_graph(
    *,
    source: Annotated[
        list[str] | None, typer.Option("--source", "-s", help="Start from this source; repeat for several.")
    ] = None,
    ontology: OnlyOntologiesOption = None,
    document: OnlyDocumentsOption = None,
    where: WhereOption = None,
    neighbours: Annotated[
        int, typer.Option("--neighbours", "-k", min=1, max=MAX_NEIGHBOURS, help="Neighbours per passage.")
    ] = 5,
    min_similarity: SimilarityOption = None,
    max_nodes: Annotated[int, typer.Option(min=1, max=MAX_NODES, help="Maximum number of passages.")] = 1000,
    within_documents: Annotated[
        bool, typer.Option("--within-documents", help="Also connect passages of the same document.")
    ] = False,
    repeated: RepeatedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show similar passages: pairs from different documents, the most similar first.

    Example: kg source-graph --ontology notes --neighbours 3 --min-similarity 0.8
    """
    from kg_cli.search.views.similarities import print_graph

    with open_client() as client:
        graph = client.source_graph(
            source,
            ontology=ontology,
            documents=document,
            where=where,
            neighbours=neighbours,
            min_similarity=min_similarity,
            max_nodes=max_nodes,
            across_documents_only=not within_documents,
            repeated=repeated,
        )
    emit(graph, print_graph, as_json=as_json)
