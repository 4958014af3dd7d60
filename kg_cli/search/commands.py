"""`kg search`, `kg answer`, `kg augment`, `kg similar` and the other searches."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar
from urllib.parse import urlencode

import typer

from kg_api.schemas.vocabulary import (
    MAX_ANSWER_PASSAGES,
    MAX_HYPOTHETICAL,
    MAX_LIMIT,
    MAX_PAGED_HITS,
    MAX_PARAGRAPH,
    MAX_TOKEN_BUDGET,
    MIN_ANSWER_TOKENS,
    USUAL_READ,
    Fusion,
    HybridMode,
    SearchMode,
    SourceKind,
)
from kg_cli.search import views
from kg_cli.terminal import console, options
from kg_cli.terminal.answers import SHORT_ID, command, emit
from kg_cli.terminal.connect import get_service_url, open_client
from kg_cli.terminal.options import argument, declare_limit, option

if TYPE_CHECKING:
    from kg_api.client import KgClient
    from kg_api.schemas.answers import HybridHits
    from kg_api.schemas.search import SourceHits, SourcePlace

LAST_SEARCH = "last-search.json"  # in the home: the ids and URLs of the hits

ModeOption = Annotated[SearchMode, option("Use vector search, full-text search, or both (hybrid).")]
KindOption = Annotated[SourceKind | None, option("Only return this kind of source.", "--kind")]
CalibratedOption = Annotated[
    float | None, option("Minimum similarity. The default is calibrated for the model.", min=-1, max=1)
]
RerankOption = Annotated[bool, option("Rerank the best hits with a cross-encoder (slower).", "--rerank")]
ThroughConceptsOption = Annotated[
    bool, option("Also find passages through concepts and their relationships.", "--concepts")
]
MmrOption = Annotated[
    float | None,
    option("MMR lambda. 1 ranks by relevance only, and 0 by diversity only.", "--mmr", min=0, max=1),
]
ExactOption = Annotated[bool, option("Compare every vector instead of using the index (slower).", "--exact")]
WindowOption = Annotated[int | None, options.WINDOW]
PageNumberOption = Annotated[int, option("Page of results to show, starting from 1.", "--page", min=1)]
ExplainOption = Annotated[bool, option("Explain why each hit has its rank.", "--explain")]
FullOption = Annotated[bool, option("Show whole passages, not only the matching part.", "--full")]


def hypothetical(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if text.isdecimal() and text.isascii():
        return int(text)
    raise typer.BadParameter(f"{text!r} is neither a number from 0 to {MAX_HYPOTHETICAL} nor auto.")


HydeOption = Annotated[
    str, option("Number of hypothetical answers (HyDE): 0 to 5, or auto.", callback=hypothetical)
]


def answer(
    question: Annotated[str, argument("Question to answer, in your own words.")],
    *,
    ontology: options.OnlyOntologies = None,
    documents: options.OnlyDocuments = None,
    where: options.Where = None,
    limit: Annotated[int, declare_limit("passages to answer from", MAX_ANSWER_PASSAGES)] = 8,
    mode: ModeOption = "hybrid",
    min_similarity: CalibratedOption = None,
    rerank: RerankOption = False,
    hyde: HydeOption = "0",
    concepts: ThroughConceptsOption = False,
    window_size: options.Neighbours = 1,
    token_budget: Annotated[
        int, declare_limit("tokens of the passages", MAX_TOKEN_BUDGET, "--tokens", least=MIN_ANSWER_TOKENS)
    ] = 6000,
    as_json: options.Json = False,
) -> None:
    """Answer a question from your documents, with the cited passages of each statement.

    A language model (KG_LLM__MODEL) is required. If no passage is relevant, there is no answer.

    Example: kg answer "How often does a worker renew its lease?" --ontology handbook
    """
    parameters = options.select_given(locals(), "as_json")
    from kg_api.schemas.answers import Answered

    with open_client() as client:
        for event in client.stream_answer(**parameters):
            if isinstance(event, Answered):
                emit(event, views.print_end, as_json=as_json)
            elif not as_json:
                views.print_statement(event)


@command(show=views.print_augmented)
def augment(
    kg: KgClient,
    file: Annotated[Path, argument("Text file, or - for standard input.", allow_dash=True)] = Path("-"),
    *,
    ontology: options.OnlyOntologies = None,
    documents: options.OnlyDocuments = None,
    where: options.Where = None,
    messages: Annotated[
        bool, option("Use this if the file contains a conversation, as for `kg conversation`.", "--messages")
    ] = False,
    limit: Annotated[int, declare_limit("passages to return", MAX_LIMIT)] = 5,
    per_document: Annotated[
        int, option("Maximum number of hits per document. Use 0 for no limit.", min=0, max=MAX_LIMIT)
    ] = 1,
    min_similarity: CalibratedOption = None,
    mode: ModeOption = "hybrid",
    whole: Annotated[bool, option("Also search for the whole text.", "--whole")] = False,
    mmr_lambda: MmrOption = None,
    deduplicate: Annotated[bool, option("Collapse near-duplicates.", "--deduplicate")] = False,
    exact: ExactOption = False,
    token_budget: Annotated[
        int | None, declare_limit("tokens to return", MAX_TOKEN_BUDGET, "--budget")
    ] = None,
) -> Any:
    """Find passages for a long text, as a Markdown block with citations for a model or a person.

    kg splits the text into pieces, searches for each piece, and returns the best passages.

    Example: kg augment draft.md --ontology notes --limit 5 --budget 2000
    """
    parameters = options.select_given(locals(), "kg", "file", "messages", "per_document")
    text = None if messages else console.read_text(file)
    conversation = console.read_messages(file) if messages else None
    return kg.augment(text, messages=conversation, per_document=per_document or None, **parameters)


PagesT = TypeVar("PagesT", "SourceHits", "HybridHits")


def turn_to_page(page: int, limit: int, read: Callable[..., PagesT]) -> PagesT:
    """Return a page of hits. The service finds a page by the cursor of the page before."""
    from kg_api.errors import InvalidInput

    if page > (last := MAX_PAGED_HITS // limit):
        raise InvalidInput(
            f"--page: {page} exceeds {last}, the last page with {limit} hits per page. All pages "
            f"together have at most {MAX_PAGED_HITS:,} hits"
        )
    answer = read()
    for _ in range(page - 1):
        if answer.next_cursor is None:
            return answer.model_copy(update={"sources": []})
        answer = read(cursor=answer.next_cursor)
    return answer


def _print_hits(answer: SourceHits, *, query_text: str, full: bool, page: int, limit: int) -> None:
    first = (page - 1) * limit + 1
    _remember(answer, query_text, first)  # first, as printing ends at a closed pipe (kg search ... | head)
    views.print_hits(answer, full=full, page=page, first=first)


def _remember(answer: SourceHits | HybridHits, query: str, first: int) -> None:
    """Save the ids and URLs of the hits for `kg show` and `kg open`."""
    from kg_api.local.processes import make_folder, write_text
    from kg_api.settings import load_settings

    settings = load_settings()
    url = get_service_url(settings)
    hits = enumerate(answer.sources, start=first)
    saved = {str(number): (hit.source_id, _build_page_url(url, hit, query)) for number, hit in hits}
    with contextlib.suppress(OSError):  # a home that cannot be written must not fail the search
        write_text(make_folder(settings.home) / LAST_SEARCH, json.dumps(saved))


def _build_page_url(url: str, place: SourcePlace, query: str | None = None) -> str:
    query_string = urlencode(options.select_given({"at": place.paragraph, "q": query}))
    return f"{url}/ui/read/{place.document_id}?{query_string}#p{place.paragraph}"


def _recall(hit: str) -> tuple[str, str] | None:
    """Return the id and the URL of a hit of the last search, or None if the text is not a number."""
    from kg_api.errors import NotFound
    from kg_api.settings import load_settings

    if not hit.isdecimal() or len(hit) >= SHORT_ID:
        return None
    try:
        known: dict[str, tuple[str, str]] = json.loads((load_settings().home / LAST_SEARCH).read_bytes())
    except (OSError, ValueError):
        known = {}
    if hit not in known:
        hits = f"the last search has hits {', '.join(known)}" if known else "no earlier search is saved"
        raise NotFound(f"hit {hit} not found: {hits}. Search first: kg search QUERY")
    return known[hit]


def open_page(
    hit: Annotated[str, argument("Passage: its number in the last search, its id, or DOCUMENT#PARAGRAPH.")],
) -> None:
    """Open a passage in the browser, or print its URL without a browser.

    Example: kg open 1
        kg open notes/install.md#3
    """
    from kg_api.settings import load_settings

    identity, page = _recall(hit) or (options.without_place(hit), None)
    with open_client() as client:  # a stopped kg or a deleted passage has no page
        place = client.source_context(identity, window_size=0).sources[0]
    page = page or _build_page_url(get_service_url(load_settings()), place)
    if not console.open_browser(page):
        console.line(page)


@command(show=_print_hits)
def search(
    kg: KgClient,
    query_text: options.Query,
    *,
    ontology: options.OnlyOntologies = None,
    documents: options.OnlyDocuments = None,
    where: options.Where = None,
    kind: KindOption = None,
    limit: options.Limit = 10,
    mode: ModeOption = "hybrid",
    min_similarity: options.Similarity = None,
    fusion: Annotated[
        Fusion, option("Fusion in `hybrid` mode: by score distribution, reciprocal ranks, or fixed weights.")
    ] = "adaptive",
    rerank: RerankOption = False,
    concepts: ThroughConceptsOption = False,
    graph: Annotated[bool, option("Keep the first five hits. Concepts find the others.", "--graph")] = False,
    hyde: HydeOption = "0",
    mmr_lambda: MmrOption = None,
    per_document: Annotated[
        int | None, declare_limit("hits per document", MAX_LIMIT, "--per-document")
    ] = None,
    collapse_duplicates: Annotated[bool, option("Collapse near-duplicate passages.", "--collapse")] = False,
    exact: ExactOption = False,
    window_size: WindowOption = None,
    token_budget: Annotated[
        int | None, declare_limit("tokens with --window", MAX_TOKEN_BUDGET, "--tokens")
    ] = None,
    explain: ExplainOption = False,
    page: PageNumberOption = 1,
    full: FullOption = False,
) -> Any:
    """Find passages by vector search, full-text search, or both.

    Example: kg search "how are retries delayed" --ontology notes --limit 5 --explain
    """
    parameters = options.select_given(locals(), "kg", "full", "kind", "page")
    read = partial(
        kg.search_sources, **parameters, kinds=kind and [kind], expand_context=window_size is not None
    )
    return turn_to_page(page, limit, read)


def _print_hybrid(answer: HybridHits, *, query_text: str, full: bool, page: int, source_limit: int) -> None:
    first = (page - 1) * source_limit + 1
    _remember(answer, query_text, first)
    views.print_hybrid(answer, full=full, page=page, first=first)


@command(show=_print_hybrid)
def hybrid(
    kg: KgClient,
    query_text: options.Query,
    *,
    ontology: options.OnlyOntologies = None,
    documents: options.OnlyDocuments = None,
    where: options.Where = None,
    kind: KindOption = None,
    concept_limit: Annotated[int, declare_limit("concepts", MAX_LIMIT, "--concepts", "-c", least=0)] = 5,
    source_limit: Annotated[int, declare_limit("passages to return", MAX_LIMIT)] = 10,
    mode: Annotated[
        HybridMode,
        option(
            "How to search: everything, through concepts only, sources only, or full text only. `graph`"
            " searches sources, and uses concepts from the sixth hit on."
        ),
    ] = "hybrid",
    window_size: WindowOption = None,
    explain: ExplainOption = False,
    page: PageNumberOption = 1,
    full: FullOption = False,
) -> Any:
    """Find concepts and passages together. Concepts lead to passages that no other search finds.

    Example: kg hybrid "who wrote the standard for type hints" --ontology peps --explain
    """
    parameters = options.select_given(locals(), "kg", "full", "kind", "page")
    read = partial(
        kg.hybrid_search, **parameters, kinds=kind and [kind], expand_context=window_size is not None
    )
    return turn_to_page(page, source_limit, read)


@command(asks="read_document", show=views.print_reading)
def read(
    document_id: Annotated[
        str,
        argument(
            "Document: its name, ONTOLOGY/NAME or id, or the id of a source to start from.",
            metavar="DOCUMENT",
            callback=options.without_place,
        ),
    ],
    *,
    ontology: options.WhichOntology = None,
    start: Annotated[
        int | None, option("Paragraph to start from. The first is 0.", "--from", min=0, max=MAX_PARAGRAPH)
    ] = None,
    token_budget: Annotated[
        int, declare_limit("tokens, but at least one paragraph", MAX_TOKEN_BUDGET, "--tokens")
    ] = USUAL_READ,
) -> None:
    """Read a document in order, from its beginning or from a paragraph.

    Example: kg read notes/install.md --tokens 2000
        kg read install.md --ontology notes --from 12
    """


@command(show=views.print_context)
def show(
    kg: KgClient,
    source: Annotated[str, argument("Number of a hit, passage id, citation, DOCUMENT#PARAGRAPH, or name.")],
    *,
    ontology: Annotated[str | None, option("Ontology of the document.", "--ontology", "-o")] = None,
    window: options.Neighbours = 2,
    tokens: Annotated[
        int | None, declare_limit("tokens of the neighbours", MAX_TOKEN_BUDGET, "--tokens")
    ] = None,
) -> Any:
    """Show a passage with its neighbours in the document, or the beginning of a document.

    Eight digits of an id are enough if they are unique.

    Example: kg show 1
        kg show 3f2a9c04 --window 5 --tokens 800
        kg show notes/install.md#3
    """
    if ontology is not None:
        name = f"{ontology}/{source}"
    elif hit := _recall(source):
        name, _ = hit
    else:
        name = options.without_place(source)
    return kg.source_context(name, window_size=window, token_budget=tokens)


@command(show=views.print_similar)
def similar(
    kg: KgClient,
    source: Annotated[str, argument("Passage: the id of a source, or ONTOLOGY/DOCUMENT#PARAGRAPH.")],
    *,
    ontology: options.OnlyOntologies = None,
    where: options.Where = None,
    limit: options.Limit = 10,
    min_similarity: options.Similarity = None,
    same_document: Annotated[
        bool, option("Also return passages from the same document.", "--same-document")
    ] = False,
    each: Annotated[bool, option("List near-duplicates separately.", "--each")] = False,
    exact: ExactOption = False,
) -> Any:
    """Find similar passages in other documents, across all ontologies.

    Example: kg similar 3f2a9c04 --limit 5 --where 'date>=2025'
        kg similar notes/install.md#3
    """
    parameters = options.select_given(locals(), "kg", "source", "each")
    return kg.similar_sources(options.without_place(source), group_duplicates=not each, **parameters)


def subgraph(
    file: Annotated[
        Path, argument("File to read the query from, as JSON. Use - for standard input.", allow_dash=True)
    ] = Path("-"),
    *,
    ontology: options.OnlyOntologies = None,
    schema: Annotated[bool, option("Print the JSON schema of queries, for an agent.", "--schema")] = False,
    as_json: options.Json = False,
) -> None:
    """Build a subgraph by the steps of a query: seed, expand, filter, rank and limit.

    Example: kg subgraph query.json --ontology notes
        kg subgraph --schema
    """
    from kg_api.schemas.constructive import ConstructiveQuery
    from kg_api.schemas.problems import validate

    if schema:
        console.print_json(ConstructiveQuery.model_json_schema())
        return
    query = validate(
        ConstructiveQuery,
        {**console.read_object(file), **options.select_given({"ontology": ontology or None})},
    )
    parameters = {name: getattr(query, name) for name in type(query).model_fields}
    with open_client() as client:
        found = client.constructive_query(**parameters)
    emit(found, views.print_subgraph, as_json=as_json)
