"""What is built on searches: answers to questions, and the passages that go with a long text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg_api.models.vocabulary import (
    MAX_ANSWER_PASSAGES,
    MAX_LIMIT,
    MAX_PER_PIECE,
    MAX_PIECE,
    MAX_PIECE_OVERLAP,
    MAX_TOKEN_BUDGET,
    MAX_WINDOW,
    MIN_ANSWER_TOKENS,
    MIN_PIECE,
)
from kg_cli.search.options import (
    CalibratedOption,
    ExactOption,
    HydeOption,
    MmrOption,
    ModeOption,
    RerankOption,
    ThroughConceptsOption,
    hypothetical,
)
from kg_cli.terminal.answers import emit
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import JsonOption, OnlyDocumentsOption, OnlyOntologiesOption, WhereOption, given


def answer(
    question: Annotated[str, typer.Argument(help="What to answer, in plain words.")],
    *,
    ontology: OnlyOntologiesOption = None,
    document: OnlyDocumentsOption = None,
    where: WhereOption = None,
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
            where=where,
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


def augment(
    file: Annotated[Path, typer.Argument(help="The text; - reads standard input.", allow_dash=True)] = Path(
        "-"
    ),
    *,
    ontology: OnlyOntologiesOption = None,
    document: OnlyDocumentsOption = None,
    where: WhereOption = None,
    messages: Annotated[
        bool, typer.Option("--messages", help="The file is a conversation, as for `kg conversation`.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=MAX_LIMIT, help="How many passages.")] = 5,
    per_piece: Annotated[int, typer.Option(min=1, max=MAX_PER_PIECE, help="Hits considered per piece.")] = 5,
    per_document: Annotated[
        int, typer.Option(min=0, max=MAX_LIMIT, help="Maximum hits per document; 0: unlimited.")
    ] = 1,
    min_similarity: CalibratedOption = None,
    mode: ModeOption = "hybrid",
    chunk_tokens: Annotated[
        int | None,
        typer.Option(
            min=MIN_PIECE, max=MAX_PIECE, help="Maximum tokens per piece; 1800, or the model's limit."
        ),
    ] = None,
    overlap_tokens: Annotated[
        int | None, typer.Option(min=0, max=MAX_PIECE_OVERLAP, help="Tokens by which pieces overlap; 150.")
    ] = None,
    one_query_tokens: Annotated[
        int | None,
        typer.Option(min=0, max=MAX_PIECE, help="A text of at most this many tokens is not split."),
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Also search for the whole text.")] = False,
    mmr_lambda: MmrOption = None,
    deduplicate: Annotated[bool, typer.Option("--deduplicate", help="Collapse near-duplicates.")] = False,
    exact: ExactOption = False,
    token_budget: Annotated[
        int | None,
        typer.Option("--budget", min=1, max=MAX_TOKEN_BUDGET, help="Maximum tokens of the context."),
    ] = None,
    records: Annotated[
        bool, typer.Option("--records", help="Print a table of the passages instead of the context.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Find the passages that go with a long text, as a Markdown block with citations to be read or passed on.

    The text is cut into pieces, each is searched for, and the best passages of all are given.

    Example: kg augment draft.md --ontology notes --limit 5 --budget 2000
    """
    from kg_cli.search.views.answers import print_context_block, print_records
    from kg_cli.terminal.inputs import read_messages, read_text

    text = None if messages else read_text(file)
    conversation = read_messages(file) if messages else None
    with open_client() as client:
        answer = client.augment(
            text,
            messages=conversation,
            ontology=ontology,
            documents=document,
            where=where,
            limit=limit,
            per_piece=per_piece,
            per_document=per_document or None,
            min_similarity=min_similarity,
            mode=mode,
            one_query_tokens=one_query_tokens,
            whole=whole,
            mmr_lambda=mmr_lambda,
            deduplicate=deduplicate,
            exact=exact,
            token_budget=token_budget,
            **given(chunk_tokens=chunk_tokens, overlap_tokens=overlap_tokens),
        )
    emit(answer, print_records if records else print_context_block, as_json=as_json)
