"""MCP tools: their functions, and the titles, descriptions, and arguments that agents see."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from kg_api.errors import Conflict, InvalidInput, NotFound, UnreadableDocument
from kg_api.mcp.answers import (
    CitationPlace,
    InlineImage,
    Item,
    Paged,
    Pager,
    build_item,
    build_passage,
    get_source_kind,
    parse_citation,
    parse_citation_place,
)
from kg_api.mcp.tool import ArgumentsT, Run, Tool, list_degradations
from kg_api.schemas.answers import HybridSearch
from kg_api.schemas.base import ID_DIGITS, MAX_REFERENCE, Body, Flag, OntologyName, Text
from kg_api.schemas.concepts import describe_choice, find_meant, format_nearest_labels
from kg_api.schemas.embedding import find_document_date
from kg_api.schemas.filters import Limit, Window
from kg_api.schemas.image_search import ImageHit, ImageSearch, RelatedSearch, RelatedSource
from kg_api.schemas.metadata import MODIFIED
from kg_api.schemas.problems import validate
from kg_api.schemas.search import Degradation, MatchedChunk, Place, SourceHit, SourceSearch
from kg_api.schemas.similarity import SimilarSearch
from kg_api.schemas.vocabulary import (
    MAX_NAMES,
    MAX_ONTOLOGIES,
    MAX_PARAGRAPH,
    MAX_PASSAGES,
    MAX_PHRASE,
    MAX_QUERY_CHARACTERS,
    MAX_TOKEN_BUDGET,
    HybridMode,
    SearchMode,
    SourceKind,
)
from kg_api.wording import pluralize, shorten

if TYPE_CHECKING:
    from kg_api.mcp.library import Library

Query = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARACTERS)]
Reference = Annotated[str, Field(min_length=1, max_length=MAX_REFERENCE)]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Names = Annotated[list[str], Field(min_length=1, max_length=MAX_NAMES)]

DOCUMENTS_AT_ONCE: Final = 100


TOOLS: dict[str, Tool[Any]] = {}  # by name, in the order for agents


def tool(
    title: str, arguments: type[ArgumentsT], description: str
) -> Callable[[Run[ArgumentsT]], Run[ArgumentsT]]:
    """Register a function as a tool with the name of the function."""

    def register(run: Run[ArgumentsT]) -> Run[ArgumentsT]:
        name = run.__name__
        TOOLS[name] = Tool(name, title, description, arguments, run)
        return run

    return register


class _Scope(Body):
    """Scope of a call, checked with the limits of REST. The schemas for agents are shorter."""

    ontology: OntologyName | None = None


def _build_passage(found: Place, **fields: Any) -> Item:
    where = {"ontology": found.ontology, "document": found.document, "heading": found.heading}
    return build_passage(parse_citation_place(found), found.full_text, **where, **fields)


class Scoped(Paged):
    ontologies: Names | None = None
    """Only these collections (default: all)."""
    where: list[str] | None = None
    """Conditions: `date>=2025-01-01`, `tags=oncall`, `page=2`, `kind=image`."""


# Search


class SearchArguments(Scoped):
    query: Query
    """A question, or keywords."""
    documents: Names | None = None
    """Only these documents: names, ONTOLOGY/NAME or ids."""
    limit: Limit = 10
    """Number of hits."""
    per_document: Limit | None = None
    """Maximum number of hits per document."""
    all_copies: Flag = False
    """Return near-duplicates as separate hits."""
    kind: SourceKind | None = None
    """`image`: only images."""
    mode: SearchMode = "hybrid"
    """`vector`: semantic. `text`: keywords. `hybrid`: both."""


@tool(
    "Search passages",
    SearchArguments,
    """\
Find passages of the user's documents that answer a question. Start here.

Write a whole question for semantic search, or names and terms for keyword search: `hybrid` does both. Each \
hit is one paragraph with its citation, the best hit first. To read around a hit, use get_source_context. If \
hits are few or poor, rephrase the question, or search for one fact at a time. Call list_ontologies first \
only to narrow the search.""",
)
def search_sources(library: Library, arguments: SearchArguments, pager: Pager) -> Item:
    options = arguments.model_dump(include={"documents", "limit", "per_document", "mode"})
    fields = {
        "query_text": arguments.query,
        "ontology": arguments.ontologies,
        "where": arguments.where or [],
        "kinds": [arguments.kind] if arguments.kind else None,
        "collapse_duplicates": not arguments.all_copies,
        **options,
    }
    found = library.search(validate(SourceSearch, fields))
    hits = [build_hit(each) for each in found.sources]
    frame = build_item(note=found.note, hits=[], degraded=list_degradations(found.degraded))
    frame["hits"] = pager.step(frame, hits, [hit["citation"] for hit in hits], "hits")
    return frame


def build_hit(found: SourceHit, **more: Any) -> Item:
    return _build_passage(
        found,
        title=None if found.title in found.heading else found.title,
        date=find_document_date(found.metadata),
        page=found.page,
        last_page=None if found.last_page == found.page else found.last_page,
        kind=get_source_kind(found),
        ocr_confidence=found.ocr_confidence,  # below 1: some words may be wrong
        similarity=None if found.similarity is None else round(found.similarity, 4),
        matched=_cite_part(found, found.chunk),
        parent=_cite_part(found, found.parent),
        duplicates=found.duplicates or None,
        **more,
    )


def _cite_part(source: SourceHit, chunk: MatchedChunk | None) -> str | None:
    """Return the citation of a chunk, or None if the chunk is the whole source except for whitespace.

    A range that is as long as its source cites the whole source, even after the source has moved.
    """
    if chunk is None or chunk.end - chunk.start == source.end - source.start:
        return None
    if source.start <= chunk.start and chunk.end <= source.end:
        before, behind = chunk.start - source.start, chunk.end - source.start
        if not (source.full_text[:before] + source.full_text[behind:]).strip():
            return None
    return str(CitationPlace(source.source_id, chunk.start, chunk.end))


class HybridArguments(Scoped):
    query: Query
    """A question or keywords, without query syntax."""
    documents: Names | None = None
    """Only these documents: names, ONTOLOGY/NAME or ids."""
    concept_limit: Annotated[int, Field(strict=True, ge=0, le=20)] = 5
    """Number of concepts."""
    source_limit: Limit = 10
    """Number of passages."""
    mode: HybridMode = "hybrid"
    """`hybrid`: semantic, keywords and concepts. `graph`: concepts from hit 6. `concept`: concepts.
    `source`: no concepts. `text`: keywords.
    """


@tool(
    "Search concepts and passages",
    HybridArguments,
    """\
Find concepts and passages together. Use this tool if an answer combines several passages, \
such as "who founded the company that made X": concepts connect passages about different things.

Each passage lists its concepts and, in `through`, the concepts that led to it. To read all passages of a \
concept, use get_concept_context with its concept_id. For a plain question, use search_sources.""",
)
def hybrid_search(library: Library, arguments: HybridArguments, pager: Pager) -> Item:
    options = arguments.model_dump(include={"documents", "where", "mode", "concept_limit", "source_limit"})
    fields = {"query_text": arguments.query, "ontology": arguments.ontologies}
    found = library.hybrid(validate(HybridSearch, {**fields, "collapse_duplicates": True, **options}))
    concepts = [
        build_item(
            concept_id=each.concept_id,
            label=each.label,
            ontology=each.ontology,
            description=shorten(each.description, 200) or None,
            sources=each.sources,
            unverified=not each.verified or None,
        )
        for each in found.concepts
    ]
    hits = [
        build_hit(
            each,
            concepts=[concept.label for concept in each.concepts],
            through=[concept.label for concept in each.through] or None,
        )
        for each in found.sources
    ]
    frame = build_item(
        notes=[each for each in (found.note, found.concepts_note) if each] or None,
        concepts=concepts if arguments.cursor is None else [],  # only in the first answer
        hits=[],
        degraded=list_degradations(found.degraded),
    )
    frame["hits"] = pager.step(frame, hits, [hit["citation"] for hit in hits], "hits")
    return frame


# Reading

PAGE_WIDTHS: Final = (1000, 700, 480, 320)  # pixels, from large to small
MAX_PAGE_BYTES: Final = 700_000  # clients reject answers of more than about a megabyte


class ContextArguments(Paged):
    citation: Reference
    """Citation, source id, ONTOLOGY/DOCUMENT#PARAGRAPH, or a document's name or id for its beginning."""
    window: Window = 2
    """Number of paragraphs before and after."""
    page: Annotated[int, Field(strict=True, ge=1, le=10**9)] | None = None
    """Also show this page of the PDF with the passage boxed. Hits have `page`."""


@tool(
    "Read around a passage",
    ContextArguments,
    """\
Read a passage with its neighbours, in document order.

Use this tool if a hit of search_sources is too short, or to check a quotation: `quote` is exactly the cited \
text. Accepts any citation, including `matched` and `parent` of a hit, bare source ids, and names of \
documents, which start at the first paragraph. To read further, cite the last paragraph, or use a larger \
window. `page` shows a page of a PDF as an image: tables, formulas, figures.""",
)
def get_source_context(library: Library, arguments: ContextArguments, pager: Pager) -> Item:
    source_id, citation = parse_citation(arguments.citation)
    context = library.context(source_id, arguments.window)
    sources = context.sources
    source = next(each for each in sources if each.source_id == context.source_id)
    current = citation and _find_current_place(citation, source)
    frame = build_item(
        ontology=source.ontology,
        document=source.document,
        document_id=source.document_id,
        moved=None if current == citation else str(current),
        paragraphs=[],
        degraded=[],
    )
    if arguments.page is not None and arguments.cursor is None:
        _show_page(library, source, arguments.page, frame, pager)
    items, keys = list[Item](), list[str]()
    if current is not None:
        items.append(
            build_passage(
                str(current), _get_place_text(library, current, sources), kind=get_source_kind(source)
            )
        )
        keys.append(f"CitedPassage {current}")
    for each in sources:
        if current is None or parse_citation_place(each) != str(current):
            details = {"paragraph": each.paragraph, "heading": each.heading, "kind": get_source_kind(each)}
            items.append(build_passage(parse_citation_place(each), each.full_text, **details))
            keys.append(f"ContextParagraph {parse_citation_place(each)}")
    passages = pager.step(frame, items, keys, "passages")
    frame["paragraphs"] = [each for each in passages if "paragraph" in each]
    quote = next((each for each in passages if "paragraph" not in each), None)
    return frame if quote is None else {**frame, "quote": quote}


def _find_current_place(citation: CitationPlace, source: Place) -> CitationPlace:
    """Find the current place of a citation. A source that moves within a document keeps its id and text."""
    if citation.end - citation.start == source.end - source.start:
        return CitationPlace(source.source_id, source.start, source.end)
    if citation.end <= source.start or source.end <= citation.start:
        whole = parse_citation_place(source)
        raise Conflict(f"the document has changed since {citation} was cited. Its paragraph is {whole} now")
    return citation


def _get_place_text(library: Library, citation: CitationPlace, around: list[Place]) -> str:
    """Get the text of a citation from the paragraphs around its source, or from the document."""
    begin = around[0].start
    if begin <= citation.start and citation.end <= around[-1].end:
        text = "".join(each.full_text for each in around)
        return text[citation.start - begin : citation.end - begin]
    text = library.document(around[0].document_id).text
    if citation.end > len(text):
        raise Conflict(f"the document has changed since {citation} was cited. It ends at {len(text)} now")
    return text[citation.start : citation.end]


def _show_page(library: Library, source: Place, page: int, frame: Item, pager: Pager) -> None:
    """Add the largest image of a page that is small enough for an answer."""
    for width in PAGE_WIDTHS:
        image = library.page(source.document_id, page, source.source_id, width)
        if len(image.content) <= MAX_PAGE_BYTES:
            pager.shown = [InlineImage(image.content, "image/png")]
            frame["page"] = {"page": page, "pages": image.pages, "boxed": image.boxed}
            return
    raise UnreadableDocument("the image of this page is too large for an answer. Call again without `page`")


class ReadArguments(Paged):
    document: Reference
    """Name, ONTOLOGY/NAME or id, or a citation as the start."""
    ontology: Name | None = None
    """The ontology, if several have a document of this name."""
    start: Annotated[int, Field(strict=True, ge=0, le=MAX_PARAGRAPH)] | None = None
    """First paragraph, from 0."""


@tool(
    "Read a document",
    ReadArguments,
    """\
Read a document in order, from its first paragraph or from a given one. Continue with the cursor.

Use this tool for any document from list_documents or a hit. For a few paragraphs around a hit, use \
get_source_context. To find a passage, use search_sources.""",
)
def read_document(library: Library, arguments: ReadArguments, pager: Pager) -> Item:
    name, _ = parse_citation(arguments.document)
    first = arguments.start if arguments.cursor is None else pager.page_start
    part = library.reading(name, arguments.ontology, first, MAX_TOKEN_BUDGET)
    record = part.document
    frame = build_item(
        ontology=record.ontology,
        document=record.document,
        document_id=record.document_id,
        title=None if record.title == record.document else record.title,
        date=find_document_date(record.metadata),
        modified=record.metadata.get(MODIFIED),
        uri=record.uri,
        paragraphs=[],
        degraded=list_degradations(part.degraded),
    )
    headings = [None, *(each.heading for each in part.sources)]
    paragraphs = [
        build_passage(
            parse_citation_place(each),
            each.full_text,
            paragraph=each.paragraph,
            heading=None if each.heading == before else each.heading,
            page=each.page,
            ocr_confidence=each.ocr_confidence,
            kind=get_source_kind(each),
        )
        for each, before in zip(part.sources, headings, strict=False)
    ]
    frame["paragraphs"] = pager.step(
        frame,
        paragraphs,
        [each.source_id for each in part.sources],
        "paragraphs",
        first=part.start,
        start=part.start,
        total=record.sources,
        remembered=1,
    )
    return frame


class ConceptArguments(Paged):
    concept: Annotated[Text, Field(min_length=1, max_length=MAX_PHRASE)]
    """A concept_id, or a name."""
    ontologies: Annotated[list[str], Field(min_length=1, max_length=MAX_ONTOLOGIES)] | None = None
    """Ontologies to search for a name (default: all)."""
    window: Window = 1
    """Number of paragraphs before and after."""
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_PASSAGES)] = 10
    """Number of passages with the concept."""


@tool(
    "Read the passages of a concept",
    ConceptArguments,
    """\
Read the passages of a concept, with their neighbours, in all documents.

Use this tool to collect statements about a person, thing, or idea. Pass a concept_id from hybrid_search, \
or a name. `quotes` cite the words that prove the concept. To find concepts, use hybrid_search.""",
)
def get_concept_context(library: Library, arguments: ConceptArguments, pager: Pager) -> Item:
    concept_id, notes = _find_concept(library, arguments.concept, arguments.ontologies)
    try:
        found = library.concept_context(concept_id, arguments.window, arguments.limit)
    except NotFound as error:
        raise NotFound(
            f"concept {concept_id!r} not found. It may have been merged, or its documents have "
            "changed. Use its name, or search with hybrid_search"
        ) from error
    paragraphs = list[Item]()
    for group in found.passages:
        for place in group.sources:
            identity = place.source_id
            carries = identity in group.carried_by
            quotes = [
                str(CitationPlace(identity, each.start, each.end))
                for each in group.quotes
                if each.source.source_id == identity
            ]
            paragraphs.append(
                build_passage(
                    parse_citation_place(place),
                    place.full_text,
                    document=place.document,
                    paragraph=place.paragraph,
                    heading=place.heading,
                    carries=carries or None,
                    quotes=quotes or None,
                    unverified=(carries and not quotes) or None,
                )
            )
    paragraphs.sort(key=lambda each: ("quotes" not in each, "carries" not in each))  # evidence comes first
    concept = found.concept
    frame = build_item(
        concept_id=concept.concept_id,
        label=concept.label,
        ontology=concept.ontology,
        description=concept.description or None,
        search_terms=concept.search_terms or None,
        unverified=not concept.verified or None,
        sources=concept.sources,
        paragraphs=[],
        degraded=list_degradations(notes),
    )
    keys = [each["citation"] for each in paragraphs]
    frame["paragraphs"] = pager.step(frame, paragraphs, keys, "paragraphs")
    return frame


def _find_concept(
    library: Library, text: str, ontologies: Sequence[str] | None
) -> tuple[str, list[Degradation]]:
    """Return the id of the requested concept, and degradations if the text is not its exact name."""
    if re.fullmatch(rf"[0-9a-f]{{{ID_DIGITS}}}", text):
        return text, []
    found = library.concepts(text, ontologies, 20)
    best = find_meant(found.concepts)
    if best is None:
        reasons = "".join(f". {each.effect}" for each in found.degraded)
        nearest = format_nearest_labels(found.concepts)
        raise NotFound(
            f"no concept matches {text!r}{nearest}{reasons}. search_sources finds passages by any words"
        )
    doubt = describe_choice(text, best, found.concepts, "`ontologies`")
    chosen = [Degradation(part="concepts", effect=doubt)] if doubt else []
    return best.concept_id, [*found.degraded, *chosen]


# Similar passages and images


class SimilarArguments(Scoped):
    citation: Reference
    """Citation or source id of the passage, or ONTOLOGY/DOCUMENT#PARAGRAPH."""
    limit: Limit = 10
    """Number of passages."""
    min_similarity: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] | None = None
    """Minimum cosine similarity."""
    same_document: Flag = False
    """Also search the passage's own document."""


@tool(
    "Find similar passages",
    SimilarArguments,
    """\
Find passages of other documents that are similar to a given passage.

Use this tool after search_sources, with the citation of a hit: to find the same statement in other \
documents, to compare documents, or to find copies (`near_duplicate`). For a question, use search_sources.""",
)
def find_similar_sources(library: Library, arguments: SimilarArguments, pager: Pager) -> Item:
    source_id, _ = parse_citation(arguments.citation)
    options = arguments.model_dump(include={"limit", "min_similarity", "same_document", "where"})
    found = library.similar(source_id, validate(SimilarSearch, {"ontology": arguments.ontologies, **options}))
    passages = [
        _build_passage(
            each,
            similarity=round(each.similarity, 4),
            ocr_confidence=each.ocr_confidence,
            near_duplicate=each.near_duplicate,
            duplicates=[copy.source_id for copy in each.duplicates] or None,
        )
        for each in found.sources
    ]
    frame = build_item(
        source=parse_citation_place(found.source), similar=[], degraded=list_degradations(found.degraded)
    )
    frame["similar"] = pager.step(frame, passages, [each["citation"] for each in passages], "passages")
    return frame


class ImageArguments(Scoped):
    query: Query | None = None
    """Keywords or a description. Omit if you give `like`."""
    like: Reference | None = None
    """Citation or source id of an image or a passage."""
    limit: Limit = 5
    """Number of images."""
    image_bytes: Annotated[int, Field(strict=True, ge=0, le=2_000_000)] = 200_000
    """Total bytes of all thumbnails, as sent."""


@tool(
    "Search images",
    ImageArguments,
    """\
Find images by words, by a passage, or by a similar image. Thumbnails follow the text.

`shown` of a hit is the number of its thumbnail. The text of an image may come from its document or \
file name: trust the thumbnail.""",
)
def search_images(library: Library, arguments: ImageArguments, pager: Pager) -> Item:
    if (arguments.query is None) == (arguments.like is None):
        raise InvalidInput("pass exactly one of `query` and `like`")
    options = {"ontology": arguments.ontologies, "where": arguments.where or None, "limit": arguments.limit}
    note: str | None = None
    found: Sequence[ImageHit | RelatedSource]
    source_id, kind = None, "image"
    if arguments.like is not None:
        (source,) = library.context(parse_citation(arguments.like)[0], 0).sources
        source_id, kind = source.source_id, source.kind
    if source_id is not None and kind == "passage":
        related = library.related(source_id, validate(RelatedSearch, {"kinds": ["image"], **options}))
        found, degraded, note = related.sources, related.degraded, related.note
    else:
        fields = {"query_text": arguments.query} if source_id is None else {"source_id": source_id}
        images = library.images(validate(ImageSearch, {**fields, **options}))
        found, degraded, note = images.images, images.degraded, images.note
    hits = [_build_image_hit(each) for each in found]
    frame = build_item(note=note, hits=[], degraded=list_degradations(degraded))
    frame["hits"] = pager.step(frame, hits, [hit["citation"] for hit in hits], "pictures")
    _show_thumbnails(library, frame, pager, arguments.image_bytes)
    return frame


def _build_image_hit(found: ImageHit | RelatedSource) -> Item:
    similarities = [signal.similarity for signal in found.through if signal.lane == "picture_space"]
    similarity = next((each for each in similarities if each is not None), None)
    return _build_passage(
        found,
        page=found.page,
        width=found.image.width if found.image else 0,
        height=found.image.height if found.image else 0,
        found_by=[*dict.fromkeys(signal.lane for signal in found.through)],
        similarity=None if similarity is None else round(similarity, 4),
    )


def _show_thumbnails(library: Library, frame: Item, pager: Pager, bytes_left: int) -> None:
    """Add the thumbnails that fit. `shown` of a hit is the number of its thumbnail."""
    too_large = missing = 0
    for hit in frame["hits"]:
        try:
            content = library.thumbnail(hit["citation"].partition("#")[0])
        except NotFound:  # deleted during the call, or stored in another place
            missing += 1
            continue
        size = len(b64encode(content))
        if size > bytes_left:
            too_large += 1
        else:
            bytes_left -= size
            pager.shown.append(InlineImage(content, "image/webp"))
            hit["shown"] = len(pager.shown)
    notes: list[str] = []
    if too_large:
        notes.append(f"{pluralize(too_large, 'thumbnail')} omitted. Lower `limit`, or raise `image_bytes`")
    if missing:
        notes.append(f"{pluralize(missing, 'thumbnail')} missing in the image store")
    if notes:
        frame["not_shown"] = "; ".join(notes)


# Lists


class OntologiesArguments(Paged):
    """Arguments of `Paged` only."""


@tool(
    "List ontologies",
    OntologiesArguments,
    """\
List the collections of documents, called ontologies, with their sizes.

Use this tool for an overview, or to find a name for search_sources and list_documents. Without a name, a \
search covers all collections.""",
)
def list_ontologies(library: Library, arguments: OntologiesArguments, pager: Pager) -> Item:
    del arguments
    fields = {"ontology", "documents", "sources", "searchable"}
    found = [each.model_dump(include=fields) for each in library.ontologies().ontologies]
    frame: Item = {"ontologies": [], "degraded": []}
    frame["ontologies"] = pager.step(frame, found, [each["ontology"] for each in found], "ontologies")
    return frame


class DocumentsArguments(Paged):
    ontology: Name | None = None
    """Only this collection (default: all)."""
    where: list[str] | None = None
    """Conditions on documents: `date>=2025-01-01`, `tags=oncall`."""


@tool(
    "List documents",
    DocumentsArguments,
    """\
List documents by name, with title, date and size, of one ontology or of all.

Use this tool for an overview, or to find a name for `documents` of search_sources and for \
read_document. To search the content of documents, use search_sources.""",
)
def list_documents(library: Library, arguments: DocumentsArguments, pager: Pager) -> Item:
    ontology = validate(_Scope, {"ontology": arguments.ontology}).ontology
    page = library.documents(ontology, pager.page_start, DOCUMENTS_AT_ONCE, arguments.where or ())
    fields = {"ontology", "document", "document_id", "title", "uri", "characters", "sources", "updated_at"}
    entries = [
        build_item(
            **each.model_dump(mode="json", include=fields),
            date=find_document_date(each.metadata),
            modified=each.metadata.get(MODIFIED),
        )
        for each in page.documents
    ]
    frame: Item = {"total": page.total, "documents": [], "notes": page.notes, "degraded": []}
    keys = [each["document_id"] for each in entries]
    # The item before this position shows whether the list has changed
    frame["documents"] = pager.step(
        frame, entries, keys, "documents", first=page.offset, total=page.total, remembered=1
    )
    return frame
