"""What is like a passage, and which passages are alike."""

from __future__ import annotations

from typing import Annotated

import typer

Ontologies = Annotated[
    list[str] | None, typer.Option("--ontology", "-o", help="Only in this ontology; repeat for several.")
]
Least = Annotated[float | None, typer.Option(min=-1, max=1, help="Minimum cosine similarity.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the REST answer.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(similar)
    app.command("similar-documents")(similar_documents)
    app.command("source-graph")(source_graph)


def similar(
    source: Annotated[str, typer.Argument(help="Id of a source, as `kg search` gives it.")],
    *,
    ontology: Ontologies = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=100, help="Maximum number of results.")
    ] = 10,
    min_similarity: Least = None,
    same_document: Annotated[
        bool, typer.Option("--same-document", help="Include the passage's own document.")
    ] = False,
    each: Annotated[
        bool, typer.Option("--each", help="List near-duplicates separately instead of grouped.")
    ] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Compare with every vector, not by the approximate index.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find similar passages in other documents, across all ontologies.

    Example: kg similar 3f2a9c... --limit 5
    """
    from kg_cli.search.views.similarities import print_similar
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json
    from kg_cli.terminal.options import without_place

    with open_client() as client:
        answer = client.similar_sources(
            without_place(source),
            ontology=ontology,
            limit=limit,
            min_similarity=min_similarity,
            same_document=same_document,
            group_duplicates=not each,
            exact=exact,
        )
    if as_json:
        print_json(answer.model_dump(mode="json"))
    else:
        print_similar(answer)


def similar_documents(
    document: Annotated[
        str, typer.Argument(help="Name, ONTOLOGY/NAME or id of a document, as `kg documents` gives it.")
    ],
    *,
    ontology: Ontologies = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="How many documents.")] = 10,
    pairs: Annotated[int, typer.Option(min=1, max=50, help="Pairs of passages per document.")] = 3,
    min_similarity: Least = None,
    as_json: AsJson = False,
) -> None:
    """Find similar documents across all ontologies, and the passages that match.

    Example: kg similar-documents 7b1e9c... --limit 5
    """
    from kg_cli.search.views.similarities import print_documents
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json

    with open_client() as client:
        answer = client.similar_documents(
            document, ontology=ontology, limit=limit, pairs=pairs, min_similarity=min_similarity
        )
    if as_json:
        print_json(answer.model_dump(mode="json"))
    else:
        print_documents(answer)


def source_graph(
    *,
    source: Annotated[
        list[str] | None, typer.Option("--source", "-s", help="Start from this source; repeat for several.")
    ] = None,
    ontology: Ontologies = None,
    document: Annotated[
        list[str] | None, typer.Option("--document", "-d", help="Only this document; repeat for several.")
    ] = None,
    neighbours: Annotated[
        int, typer.Option("--neighbours", "-k", min=1, max=50, help="Neighbours per passage.")
    ] = 5,
    min_similarity: Least = None,
    max_nodes: Annotated[int, typer.Option(min=1, max=5000, help="Maximum number of passages.")] = 1000,
    within_documents: Annotated[
        bool, typer.Option("--within-documents", help="Also connect passages of the same document.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show similar passages: pairs from different documents, the most similar first.

    Example: kg source-graph --ontology notes --neighbours 3 --min-similarity 0.8
    """
    from kg_cli.search.views.similarities import print_graph
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json

    with open_client() as client:
        graph = client.source_graph(
            source,
            ontology=ontology,
            documents=document,
            neighbours=neighbours,
            min_similarity=min_similarity,
            max_nodes=max_nodes,
            across_documents_only=not within_documents,
        )
    if as_json:
        print_json(graph.model_dump(mode="json"))
    else:
        print_graph(graph)
