"""Finding passages and reading around them."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from kg_api.models.vocabulary import (
    DEFAULT_WINDOW,
    MAX_LIMIT,
    MAX_PARAGRAPH,
    MAX_TOKEN_BUDGET,
    USUAL_READ,
    Fusion,
    HybridMode,
)
from kg_cli.images.searching import ImageFileOption, report_like, require_only
from kg_cli.search.options import (
    CursorOption,
    ExactOption,
    ExplainOption,
    FullOption,
    GraphOption,
    HydeOption,
    KindOption,
    MmrOption,
    ModeOption,
    RerankOption,
    SimilarityOption,
    ThroughConceptsOption,
    WindowOption,
    hypothetical,
    without_place,
)
from kg_cli.terminal.answers import emit
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import (
    JsonOption,
    LimitOption,
    NeighboursOption,
    OnlyDocumentsOption,
    OnlyOntologiesOption,
    QueryArgument,
    WhereOption,
)


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
    from kg_cli.search.views.passages import print_hits

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
    emit(answer, partial(print_hits, full=full, further=cursor is not None), as_json=as_json)


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
    from kg_cli.search.views.passages import print_hybrid

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
    emit(answer, partial(print_hybrid, full=full), as_json=as_json)


def read(
    document: Annotated[
        str,
        typer.Argument(help="Name, ONTOLOGY/NAME or id of a document; or a source, to begin there."),
    ],
    *,
    ontology: Annotated[
        str | None, typer.Option("--ontology", "-o", help="Which one, when several have the name.")
    ] = None,
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
    from kg_cli.search.views.reading import print_reading

    with open_client() as client:
        part = client.read_document(
            without_place(document), ontology=ontology, start=start, token_budget=tokens
        )
    emit(part, print_reading, as_json=as_json)


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
    from kg_cli.search.views.passages import print_context

    called = without_place(source) if ontology is None else f"{ontology}/{source}"
    with open_client() as client:
        context = client.source_context(called, window_size=window, token_budget=tokens)
    emit(context, print_context, as_json=as_json)
