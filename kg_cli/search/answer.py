"""Answering questions."""

from __future__ import annotations

from typing import Annotated

import typer

from kg_api.models.vocabulary import MAX_ANSWER_PASSAGES, MAX_TOKEN_BUDGET, MAX_WINDOW, MIN_ANSWER_TOKENS
from kg_cli.search.options import (
    CalibratedOption,
    HydeOption,
    ModeOption,
    RerankOption,
    ThroughConceptsOption,
    hypothetical,
)
from kg_cli.terminal.answers import emit
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import JsonOption, OnlyDocumentsOption, OnlyOntologiesOption


def answer(
    question: Annotated[str, typer.Argument(help="What to answer, in plain words.")],
    *,
    ontology: OnlyOntologiesOption = None,
    document: OnlyDocumentsOption = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=MAX_ANSWER_PASSAGES, help="Passages to answer from.")
    ] = 8,
    mode: ModeOption = "hybrid",
    min_similarity: CalibratedOption = None,
    rerank: RerankOption = False,
    hyde: HydeOption = "0",
    concepts: ThroughConceptsOption = False,
    window: Annotated[
        int,
        typer.Option("--window", "-w", min=0, max=MAX_WINDOW, help="Paragraphs shown around each passage."),
    ] = 1,
    tokens: Annotated[
        int,
        typer.Option(
            min=MIN_ANSWER_TOKENS,
            max=MAX_TOKEN_BUDGET,
            help="Maximum tokens of the passages to answer from.",
        ),
    ] = 6000,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from your documents, each statement with the places that prove it.

    It needs a language model (KG_LLM__MODEL), and refuses when no passage is near enough to the question.

    Example: kg answer "How often does a worker renew its lease?" --ontology handbook
    """
    from kg_api.models.queries.answering import Answered
    from kg_cli.search.views.answers import print_end, print_statement

    with open_client() as client:
        for event in client.stream_answer(
            question,
            ontology=ontology,
            documents=document,
            limit=limit,
            mode=mode,
            min_similarity=min_similarity,
            rerank=rerank,
            hyde=hypothetical(hyde),
            concepts=concepts,
            window_size=window,
            token_budget=tokens,
        ):
            if isinstance(event, Answered):
                emit(event, print_end, as_json=as_json)
            elif not as_json:
                print_statement(event)
