"""Answering questions."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kg_api.models.vocabulary import SearchMode
from kg_cli.terminal.options import hypothetical


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(answer)


def answer(
    question: Annotated[str, typer.Argument(help="What to answer, in plain words.")],
    *,
    ontology: Annotated[
        list[str] | None, typer.Option("--ontology", "-o", help="Only this ontology; repeat for several.")
    ] = None,
    document: Annotated[
        list[str] | None, typer.Option("--document", "-d", help="Only this document; repeat for several.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=50, help="Passages to answer from; 8.")
    ] = None,
    mode: Annotated[SearchMode, typer.Option(help="Search mode.")] = "hybrid",
    min_similarity: Annotated[
        float | None,
        typer.Option(min=-1, max=1, help="Minimum similarity; unset: calibrated for the model."),
    ] = None,
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Rerank the passages with a cross-encoder.")
    ] = False,
    hyde: Annotated[
        str | None,
        typer.Option(help="Number of hypothetical answers to search with (HyDE): 0 to 5, or auto."),
    ] = None,
    concepts: Annotated[
        bool, typer.Option("--concepts", help="Also find passages through concepts and their relationships.")
    ] = False,
    window: Annotated[
        int | None,
        typer.Option("--window", "-w", min=0, max=20, help="Paragraphs shown around each passage; 1."),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(min=100, max=1_000_000, help="Maximum tokens of the passages to answer from; 6000."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the REST answer.")] = False,
) -> None:
    """Answer a question from your documents, each statement with the places that prove it.

    It needs a language model (KG_LLM__MODEL), and refuses when no passage is near enough to the question.

    Example: kg answer "How often does a worker renew its lease?" --ontology handbook
    """
    from kg_api.models.queries.answering import Answered
    from kg_cli.search.views.answers import print_end, print_statement
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json

    options: dict[str, Any] = {
        "documents": document,
        "limit": limit,
        "mode": mode,
        "min_similarity": min_similarity,
        "rerank": rerank,
        "hyde": hypothetical(hyde),
        "concepts": concepts,
        "window_size": window,
        "token_budget": tokens,
    }
    given = {name: value for name, value in options.items() if value is not None}
    with open_client() as client:
        for event in client.stream_answer(question, ontology=ontology, **given):
            if not isinstance(event, Answered):
                if not as_json:
                    print_statement(event)
            elif as_json:
                print_json(event.model_dump(mode="json"))
            else:
                print_end(event)
