"""Finding the passages that go with a long text or a conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kg_api.models.vocabulary import SearchMode


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(augment)


def augment(
    file: Annotated[Path, typer.Argument(help="The text; - reads standard input.", allow_dash=True)] = Path(
        "-"
    ),
    *,
    ontology: Annotated[
        list[str] | None, typer.Option("--ontology", "-o", help="Only this ontology; repeat for several.")
    ] = None,
    document: Annotated[
        list[str] | None, typer.Option("--document", "-d", help="Only this document; repeat for several.")
    ] = None,
    messages: Annotated[
        bool, typer.Option("--messages", help="The file is a conversation, as for `kg conversation`.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="How many passages.")] = 5,
    per_piece: Annotated[
        int, typer.Option("--per-piece", min=1, max=50, help="Hits considered per piece.")
    ] = 5,
    per_document: Annotated[
        int, typer.Option("--per-document", min=0, max=100, help="Maximum hits per document; 0: unlimited.")
    ] = 1,
    min_similarity: Annotated[
        float | None,
        typer.Option(min=-1, max=1, help="Minimum similarity; unset: calibrated for the model."),
    ] = None,
    mode: Annotated[SearchMode, typer.Option(help="Search mode for each piece.")] = "hybrid",
    chunk_tokens: Annotated[
        int | None,
        typer.Option(min=64, max=8192, help="Maximum tokens per piece; 1800, or the model's limit."),
    ] = None,
    overlap_tokens: Annotated[
        int | None, typer.Option(min=0, max=2048, help="Tokens by which pieces overlap; 150.")
    ] = None,
    one_query_tokens: Annotated[
        int | None, typer.Option(min=0, max=8192, help="A text of at most this many tokens is not split.")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Also search for the whole text.")] = False,
    mmr_lambda: Annotated[
        float | None,
        typer.Option("--mmr", min=0, max=1, help="MMR lambda: 1 is relevance only, 0 is diversity only."),
    ] = None,
    deduplicate: Annotated[bool, typer.Option("--deduplicate", help="Collapse near-duplicates.")] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Compare with every vector.")] = False,
    token_budget: Annotated[
        int | None, typer.Option("--budget", min=1, max=1_000_000, help="Maximum tokens of the context.")
    ] = None,
    records: Annotated[
        bool, typer.Option("--records", help="Print a table of the passages instead of the context.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the REST answer.")] = False,
) -> None:
    """Find the passages that go with a long text, as a Markdown block with citations to be read or passed on.

    The text is cut into pieces, each is searched for, and the best passages of all are given.

    Example: kg augment draft.md --ontology notes --limit 5 --budget 2000
    """
    from kg_cli.search.views.augmentations import print_context_block, print_records
    from kg_cli.terminal.connect import open_client
    from kg_cli.terminal.console import print_json
    from kg_cli.terminal.inputs import read_messages, read_text

    options: dict[str, Any] = {
        "documents": document,
        "min_similarity": min_similarity,
        "chunk_tokens": chunk_tokens,
        "overlap_tokens": overlap_tokens,
        "one_query_tokens": one_query_tokens,
        "mmr_lambda": mmr_lambda,
        "token_budget": token_budget,
    }
    if messages:
        options["messages"] = read_messages(file)
    else:
        options["text"] = read_text(file)
    with open_client() as client:
        answer = client.augment(
            ontology=ontology,
            limit=limit,
            per_piece=per_piece,
            per_document=per_document or None,
            mode=mode,
            whole=whole,
            deduplicate=deduplicate,
            exact=exact,
            **{name: value for name, value in options.items() if value is not None},
        )
    if as_json:
        print_json(answer.model_dump(mode="json"))
    elif records:
        print_records(answer)
    else:
        print_context_block(answer)
