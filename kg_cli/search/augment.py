"""Finding the passages that go with a long text or a conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg_api.models.vocabulary import (
    MAX_LIMIT,
    MAX_PER_PIECE,
    MAX_PIECE,
    MAX_PIECE_OVERLAP,
    MAX_TOKEN_BUDGET,
    MIN_PIECE,
)
from kg_cli.search.options import CalibratedOption, ExactOption, MmrOption, ModeOption
from kg_cli.terminal.answers import emit
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import JsonOption, OnlyDocumentsOption, OnlyOntologiesOption, given


def augment(
    file: Annotated[Path, typer.Argument(help="The text; - reads standard input.", allow_dash=True)] = Path(
        "-"
    ),
    *,
    ontology: OnlyOntologiesOption = None,
    document: OnlyDocumentsOption = None,
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
    from kg_cli.search.views.augmentations import print_context_block, print_records
    from kg_cli.terminal.inputs import read_messages, read_text

    text = None if messages else read_text(file)
    conversation = read_messages(file) if messages else None
    with open_client() as client:
        answer = client.augment(
            text,
            messages=conversation,
            ontology=ontology,
            documents=document,
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
