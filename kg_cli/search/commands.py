"""`kg search`, `kg ask`, `kg augment`, `kg similar` and the other searches."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kg_api.schemas.vocabulary import (
    DEFAULT_WINDOW,
    MAX_ANSWER_PASSAGES,
    MAX_HYPOTHETICAL,
    MAX_LIMIT,
    MAX_NEIGHBOURS,
    MAX_NODES,
    MAX_PAIRS,
    MAX_PARAGRAPH,
    MAX_PER_PIECE,
    MAX_PIECE,
    MAX_PIECE_OVERLAP,
    MAX_TOKEN_BUDGET,
    MAX_WINDOW,
    MIN_ANSWER_TOKENS,
    MIN_PIECE,
    USUAL_READ,
    Fusion,
    HybridMode,
    SearchMode,
    SourceKind,
)
from kg_cli.search.images import ImageFileOption, SimilarityOption, report_like, require_only, without_place
from kg_cli.terminal.connect import (
    JsonOption,
    LimitOption,
    NeighboursOption,
    OnlyDocumentsOption,
    OnlyOntologiesOption,
    QueryArgument,
    WhereOption,
    WhichOntologyOption,
    emit,
    given,
    open_client,
)
from kg_cli.terminal.late import LateModule

if TYPE_CHECKING:
    from kg_cli.search import views
else:
    views = LateModule("kg_cli.search.views")

ModeOption = Annotated[SearchMode, typer.Option(help="Search by vectors, full text, or both (hybrid).")]
KindOption = Annotated[
    SourceKind | None, typer.Option("--kind", help="Only sources of this kind, such as image.")
]
CalibratedOption = Annotated[
    float | None, typer.Option(min=-1, max=1, help="Minimum similarity; unset: calibrated for the model.")
]
RerankOption = Annotated[
    bool, typer.Option("--rerank", help="Rerank the best hits with a cross-encoder; slower.")
]
HydeOption = Annotated[
    str, typer.Option(help="Number of hypothetical answers to search with (HyDE): 0 to 5, or auto.")
]
ThroughConceptsOption = Annotated[
    bool, typer.Option("--concepts", help="Also find passages through concepts and their relationships.")
]
GraphOption = Annotated[
    bool, typer.Option("--graph", help="Keep the first five hits and fill up behind them through concepts.")
]
MmrOption = Annotated[
    float | None,
    typer.Option("--mmr", min=0, max=1, help="MMR lambda: 1 is relevance only, 0 is diversity only."),
]
ExactOption = Annotated[
    bool, typer.Option("--exact", help="Compare every vector, not by the approximate index; slower.")
]
WindowOption = Annotated[
    int | None,
    typer.Option(
        "--window",
        "-w",
        min=0,
        max=MAX_WINDOW,
        help="Return reading windows: this many paragraphs around each hit.",
    ),
]
CursorOption = Annotated[
    str | None,
    typer.Option(help="Show the next page: the cursor printed below the last one, all else being the same."),
]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Explain the rank of each hit.")]
FullOption = Annotated[bool, typer.Option("--full", help="Show whole passages, not only the matching part.")]


def hypothetical(given: str) -> int | Literal["auto"]:
    """The value of --hyde: `auto`, or a number.

    Raises:
        BadParameter: it is neither.
    """
    if given == "auto":
        return "auto"
    if given.isdecimal() and given.isascii():
        return int(given)
    raise typer.BadParameter(f"{given!r} is neither a number from 0 to {MAX_HYPOTHETICAL} nor auto.")


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
    from kg_api.schemas.answers import Answered

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
                emit(event, views.print_end, as_json=as_json)
            elif not as_json:
                views.print_statement(event)


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
    from kg_cli.terminal.console import read_messages, read_text

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
    emit(answer, views.print_records if records else views.print_context_block, as_json=as_json)


# Finding passages and reading around them.


def search(
    context: typer.Context,
    query: Annotated[str | None, typer.Argument(help="What to look for, in plain words.")] = None,
    *,
    image: ImageFileOption = None,
    ontology: OnlyOntologiesOption = None,
    document: OnlyDocumentsOption = None,
    where: WhereOption = None,
    kind: KindOption = None,
    limit: LimitOption = 10,
    mode: ModeOption = "hybrid",
    min_similarity: SimilarityOption = None,
    fusion: Annotated[
        Fusion,
        typer.Option(
            help="Fusion for `hybrid`: by score distribution, by reciprocal ranks, or by fixed weights."
        ),
    ] = "adaptive",
    rerank: RerankOption = False,
    concepts: ThroughConceptsOption = False,
    graph: GraphOption = False,
    hyde: HydeOption = "0",
    mmr: MmrOption = None,
    per_document: Annotated[
        int | None, typer.Option(min=1, max=MAX_LIMIT, help="Maximum hits per document.")
    ] = None,
    collapse: Annotated[bool, typer.Option("--collapse", help="Collapse near-duplicate passages.")] = False,
    exact: ExactOption = False,
    window: WindowOption = None,
    tokens: Annotated[
        int | None,
        typer.Option(min=1, max=MAX_TOKEN_BUDGET, help="With --window: maximum tokens to return."),
    ] = None,
    explain: ExplainOption = False,
    cursor: CursorOption = None,
    full: FullOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find passages by meaning, by words, or both.

    Example: kg search "how are retries delayed" --ontology notes --limit 5 --explain
        kg search --image boat.jpg
    """
    if image is not None:
        require_only(context)
        report_like(
            image,
            as_json=as_json,
            ontology=ontology,
            documents=document,
            where=where,
            limit=limit,
            min_similarity=min_similarity,
        )
        return
    if query is None:
        raise typer.BadParameter("say what to look for: words, or --image FILE")
    with open_client() as client:
        answer = client.search_sources(
            query,
            ontology=ontology,
            documents=document,
            where=where,
            kinds=None if kind is None else [kind],
            limit=limit,
            mode=mode,
            min_similarity=min_similarity,
            fusion=fusion,
            rerank=rerank,
            concepts=concepts,
            graph=graph,
            hyde=hypothetical(hyde),
            mmr_lambda=mmr,
            per_document=per_document,
            collapse_duplicates=collapse,
            exact=exact,
            expand_context=window is not None,
            window_size=DEFAULT_WINDOW if window is None else window,
            token_budget=tokens,
            explain=explain,
            cursor=cursor,
        )
    emit(answer, partial(views.print_hits, full=full, further=cursor is not None), as_json=as_json)


def hybrid(
    query: QueryArgument,
    *,
    ontology: OnlyOntologiesOption = None,
    document: OnlyDocumentsOption = None,
    where: WhereOption = None,
    kind: KindOption = None,
    concepts: Annotated[
        int, typer.Option("--concepts", "-c", min=0, max=MAX_LIMIT, help="How many concepts.")
    ] = 5,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=MAX_LIMIT, help="How many passages.")
    ] = 10,
    mode: Annotated[
        HybridMode,
        SearchMode,
        SourceKind,
        typer.Option(
            help="Search everything, through concepts only, sources only, or full text only; graph: sources, "
            "and through concepts from the sixth hit on."
        ),
    ] = "hybrid",
    window: WindowOption = None,
    explain: ExplainOption = False,
    cursor: CursorOption = None,
    full: FullOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find concepts and passages together; concepts bring passages that neither words nor meaning find.

    Example: kg hybrid "who wrote the standard for type hints" --ontology peps --explain
    """
    with open_client() as client:
        answer = client.hybrid_search(
            query,
            ontology=ontology,
            documents=document,
            where=where,
            kinds=None if kind is None else [kind],
            concept_limit=concepts,
            source_limit=limit,
            mode=mode,
            explain=explain,
            cursor=cursor,
            expand_context=window is not None,
            window_size=DEFAULT_WINDOW if window is None else window,
        )
    emit(answer, partial(views.print_hybrid, full=full), as_json=as_json)


def read(
    document: Annotated[
        str,
        typer.Argument(help="Name, ONTOLOGY/NAME or id of a document; or a source, to begin there."),
    ],
    *,
    ontology: WhichOntologyOption = None,
    start: Annotated[
        int | None, typer.Option("--from", min=0, max=MAX_PARAGRAPH, help="Paragraph to begin with, from 0.")
    ] = None,
    tokens: Annotated[
        int, typer.Option(min=1, max=MAX_TOKEN_BUDGET, help="Maximum tokens; one paragraph is always read.")
    ] = USUAL_READ,
    as_json: JsonOption = False,
) -> None:
    """Read a document in its order, from its beginning or from a paragraph on.

    Example: kg read notes/install.md --tokens 2000
        kg read install.md --ontology notes --from 12
    """
    with open_client() as client:
        part = client.read_document(
            without_place(document), ontology=ontology, start=start, token_budget=tokens
        )
    emit(part, views.print_reading, as_json=as_json)


def show(
    source: Annotated[
        str,
        typer.Argument(
            help="Id of a source, as `kg search` gives it, a citation, DOCUMENT#PARAGRAPH, or a document's "
            "name or id."
        ),
    ],
    *,
    ontology: Annotated[
        str | None, typer.Option("--ontology", "-o", help="Of a document's name: which one it is in.")
    ] = None,
    window: NeighboursOption = 2,
    tokens: Annotated[
        int | None, typer.Option(min=1, max=MAX_TOKEN_BUDGET, help="Maximum tokens of the neighbours.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a passage among its neighbours of the same document, or where a document begins.

    Eight digits of an id do, as long as no other begins with them.

    Example: kg show 3f2a9c04 --window 5 --tokens 800
        kg show notes/install.md#3
    """
    called = without_place(source) if ontology is None else f"{ontology}/{source}"
    with open_client() as client:
        context = client.source_context(called, window_size=window, token_budget=tokens)
    emit(context, views.print_context, as_json=as_json)


# What is like a passage, and which passages are alike.

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
    emit(answer, views.print_similar, as_json=as_json)


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
    emit(answer, views.print_documents, as_json=as_json)


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
    emit(graph, views.print_graph, as_json=as_json)


# Constructive queries: steps that build a subgraph.


def subgraph(
    file: Annotated[
        Path, typer.Argument(help="The query as JSON; - reads standard input.", allow_dash=True)
    ] = Path("-"),
    *,
    ontology: OnlyOntologiesOption = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of queries, such as for an agent.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Build a subgraph by the steps of a query: seed, expand, filter, rank, limit.

    Example: kg subgraph query.json --ontology notes
        kg subgraph --schema
    """
    from kg_api.schemas.constructive import ConstructiveQuery
    from kg_api.schemas.problems import valid
    from kg_cli.terminal.console import print_json, read_object

    if schema:
        print_json(ConstructiveQuery.model_json_schema())
        return
    query = valid(ConstructiveQuery, {**read_object(file), **given(ontology=ontology or None)})
    with open_client() as client:
        answer = client.constructive_query(
            query.steps,
            ontology=query.ontology,
            documents=query.documents,
            where=query.where,
            seconds=query.seconds,
        )
    emit(answer, views.print_subgraph, as_json=as_json)
