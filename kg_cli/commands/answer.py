"""Answering questions."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kg_cli.options import Mode, hypothetical


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(answer)


def answer(
    question: Annotated[str, typer.Argument(help="What to answer, in plain words.")],
    *,
    ontology: Annotated[
        list[str] | None, typer.Option("--ontology", "-o", help="Only this one; repeat for several.")
    ] = None,
    document: Annotated[
        list[str] | None, typer.Option("--document", "-d", help="Only this document; repeat for several.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=50, help="Passages to answer from; 8.")
    ] = None,
    mode: Annotated[Mode, typer.Option(help="How passages are searched for.")] = Mode.hybrid,
    min_similarity: Annotated[
        float | None,
        typer.Option(min=-1, max=1, help="Not from what is less similar; unset: what fits the model."),
    ] = None,
    rerank: Annotated[bool, typer.Option("--rerank", help="Let a cross-encoder read the passages.")] = False,
    hyde: Annotated[
        str | None, typer.Option(help="Search by so many hypothetical answers too: 0 to 5, or auto.")
    ] = None,
    concepts: Annotated[
        bool, typer.Option("--concepts", help="Let concepts bring passages too, over what they relate to.")
    ] = False,
    window: Annotated[
        int | None,
        typer.Option("--window", "-w", min=0, max=20, help="Paragraphs shown around each passage; 1."),
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(min=100, max=1_000_000, help="Most tokens to answer from; 6000.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the REST answer.")] = False,
) -> None:
    """Answer a question from your documents, each statement with the places that prove it.

    It needs a language model (KG_LLM__MODEL), and refuses when no passage is near enough to the question.

    Example: kg answer "How often does a worker renew its lease?" --ontology handbook
    """
    from kg_api.models.answering import Answered
    from kg_cli.answering import print_end, print_statement
    from kg_cli.connect import open_client
    from kg_cli.console import print_json

    options: dict[str, Any] = {
        "documents": document,
        "limit": limit,
        "mode": mode.value,
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
