"""Finding passages and reading around them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kg_api.models.vocabulary import Fusion, HybridMode, SearchMode
from kg_cli.terminal.options import hypothetical


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(search)
    app.command()(hybrid)
    app.command()(show)


def search(
    query: Annotated[str, typer.Argument(help="What to look for, in plain words.")],
    *,
    ontology: Annotated[
        list[str] | None, typer.Option("--ontology", "-o", help="Only this ontology; repeat for several.")
    ] = None,
    document: Annotated[
        list[str] | None, typer.Option("--document", "-d", help="Only this document; repeat for several.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="How many hits.")] = 10,
    mode: Annotated[
        SearchMode, typer.Option(help="Search by vectors, full text, or both (hybrid).")
    ] = "hybrid",
    min_similarity: Annotated[
        float | None, typer.Option(min=-1, max=1, help="Minimum cosine similarity of a hit.")
    ] = None,
    fusion: Annotated[
        Fusion,
        typer.Option(
            help="Fusion for `hybrid`: by score distribution, by reciprocal ranks, or by fixed weights."
        ),
    ] = "adaptive",
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Rerank the best hits with a cross-encoder; slower.")
    ] = False,
    concepts: Annotated[
        bool, typer.Option("--concepts", help="Also find passages through concepts and their relationships.")
    ] = False,
    hyde: Annotated[
        str | None,
        typer.Option(help="Number of hypothetical answers to search with (HyDE): 0 to 5, or auto."),
    ] = None,
    mmr: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="MMR lambda: 1 is relevance only; lower values add diversity."),
    ] = None,
    per_document: Annotated[
        int | None, typer.Option(min=1, max=100, help="Maximum hits per document.")
    ] = None,
    collapse: Annotated[bool, typer.Option("--collapse", help="Collapse near-duplicate passages.")] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Compare every vector, not by the approximate index; slower.")
    ] = False,
    window: Annotated[
        int | None,
        typer.Option(
            "--window",
            "-w",
            min=0,
            max=20,
            help="Return reading windows: this many paragraphs around each hit.",
        ),
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, help="With --window: maximum tokens to return.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain the rank of each hit.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Show whole passages, not only the matching part.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the REST answer.")] = False,
) -> None:
    """Find passages by meaning, by words, or both.

    Example: kg search "how are retries delayed" --ontology notes --limit 5 --explain
    """
    from kg_cli.search.views.passages import print_hits
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json

    options: dict[str, Any] = {
        "documents": document,
        "mode": mode,
        "min_similarity": min_similarity,
        "fusion": fusion,
        "rerank": rerank,
        "concepts": concepts,
        "hyde": hypothetical(hyde),
        "mmr_lambda": mmr,
        "per_document": per_document,
        "collapse_duplicates": collapse,
        "exact": exact,
        "explain": explain,
        "expand_context": window is not None,
        "window_size": window,
        "token_budget": tokens,
    }
    given = {name: value for name, value in options.items() if value is not None}
    with open_client() as client:
        answer = client.search_sources(query, ontology=ontology, limit=limit, **given)
    if as_json:
        print_json(answer.model_dump(mode="json"))
    else:
        print_hits(answer, full=full)


def hybrid(
    query: Annotated[str, typer.Argument(help="What to look for, in plain words.")],
    *,
    ontology: Annotated[
        list[str] | None, typer.Option("--ontology", "-o", help="Only this ontology; repeat for several.")
    ] = None,
    concepts: Annotated[int, typer.Option("--concepts", "-c", min=0, max=100, help="How many concepts.")] = 5,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="How many passages.")] = 10,
    mode: Annotated[
        HybridMode,
        typer.Option(help="Search everything, through concepts only, sources only, or full text only."),
    ] = "hybrid",
    window: Annotated[
        int | None,
        typer.Option(
            "--window",
            "-w",
            min=0,
            max=20,
            help="Return reading windows: this many paragraphs around each hit.",
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain the rank of each hit.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Show whole passages, not only the matching part.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the REST answer.")] = False,
) -> None:
    """Find concepts and passages together; concepts bring passages that neither words nor meaning find.

    Example: kg hybrid "who wrote the standard for type hints" --ontology peps --explain
    """
    from kg_cli.search.views.passages import print_hybrid
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json

    around: dict[str, Any] = {} if window is None else {"expand_context": True, "window_size": window}
    with open_client() as client:
        answer = client.hybrid_search(
            query,
            ontology=ontology,
            concept_limit=concepts,
            source_limit=limit,
            mode=mode,
            explain=explain,
            **around,
        )
    if as_json:
        print_json(answer.model_dump(mode="json"))
    else:
        print_hybrid(answer, full=full)


def show(
    source: Annotated[
        str,
        typer.Argument(
            help="Id of a source, as `kg search` gives it, a citation, or a document's name or id."
        ),
    ],
    *,
    ontology: Annotated[
        str | None, typer.Option("--ontology", "-o", help="Of a document's name: which one it is in.")
    ] = None,
    window: Annotated[
        int, typer.Option("--window", "-w", min=0, max=20, help="Paragraphs before and after.")
    ] = 2,
    tokens: Annotated[
        int | None,
        typer.Option("--tokens", min=1, max=1_000_000, help="Maximum tokens of the neighbours."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the REST answer.")] = False,
) -> None:
    """Show a passage among its neighbours of the same document, or where a document begins.

    Eight digits of an id do, as long as no other begins with them.

    Example: kg show 3f2a9c04 --window 5 --tokens 800
    """
    from kg_cli.search.views.passages import print_context
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json
    from kg_cli.terminal.options import without_place

    with open_client() as client:
        called = without_place(source) if ontology is None else f"{ontology}/{source}"
        context = client.source_context(called, window_size=window, token_budget=tokens)
    if as_json:
        print_json(context.model_dump(mode="json"))
    else:
        print_context(context)
