"""Ingestion: from a request or a file to a stored document, alone, in batches, or after review."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePath
from typing import Any, Final, Literal, NamedTuple, Protocol, cast

import structlog
from pydantic import TypeAdapter, ValidationError

from kg_api.blobs.images import ImageKeeper, LookingKeeper
from kg_api.convert.program import SUFFIXES
from kg_api.errors import FilesCollected, InvalidInput, KgError, Unavailable, UnreadableDocument
from kg_api.graph.cache import once
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import (
    AskForExtraction,
    StoreResult,
    preview_document,
    split_to_transactions,
    store_document,
    store_documents,
)
from kg_api.graph.reach import require
from kg_api.graph.review import (
    GivenDocument,
    count_waiting,
    forget_waiting_files,
    read_waiting,
    reject_waiting,
)
from kg_api.schemas.base import content_hash, digest, document_id, source_ids
from kg_api.schemas.documents import (
    MAX_REVIEWED,
    Approval,
    Approved,
    CodeScope,
    Conversation,
    Converted,
    DocumentOutcome,
    DocumentRecord,
    DocumentRequest,
    DocumentText,
    Duplicates,
    GivenBatch,
    Ingested,
    IngestedBatch,
    Message,
    ParsedDocument,
    Rejected,
    Review,
    SourceChanges,
    SourceRecord,
    StoredChange,
    WordBox,
    mean_of,
    pack,
)
from kg_api.schemas.formats import CONVERTED, IN_TEXT, ConvertedFormat, Format, OcrMode
from kg_api.schemas.images import FoundImage, PlacedImage, StoredImage
from kg_api.schemas.metadata import MetadataValue, with_file_time
from kg_api.schemas.problems import PASSING, SOMETHING_WRONG, Problem, problem_of, problem_of_fields
from kg_api.text.documents import check_text, decode, format_of, parse, with_images
from kg_api.text.linked_files import count_elsewhere, references, references_of, take_inline_images
from kg_api.text.markdown import blocks
from kg_api.text.sources import NEWLINE, SPLITTER_VERSION, blocks_of, is_blank, split

# The words that stand for pictures, and where in their document. Pure.

_BETWEEN = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)")
SAYING: Final = ("description", "caption")
"""Metadata that says what is to be seen."""
_SUFFIX = re.compile(r"\.\w{1,5}$")


def place_images(found: Sequence[FoundImage], stored: Sequence[StoredImage]) -> tuple[PlacedImage, ...]:
    """Pictures with their files, each at its place."""
    both = zip(found, stored, strict=True)
    return tuple(PlacedImage(each.start, each.end, image) for each, image in both)


def with_words(
    made: Converted, document: str, title: str | None, metadata: Mapping[str, MetadataValue]
) -> Converted:
    """A picture that is a document of its own: what is said of it stands before what it says itself.

    The words of its name and folders, and the title, description and caption that it is given, a line each.
    """
    given = [title, *(metadata.get(key) for key in SAYING)]
    lines = [" ".join(each.split()) for each in given if isinstance(each, str)]
    own = {*made.text.splitlines()}
    said = dict.fromkeys([words_of_name(document), *(line for line in lines if line not in own)])
    text = "\n".join(filter(None, (*said, made.text)))
    return replace(made, text=text, images=tuple(replace(each, end=len(text)) for each in made.images))


def words_of_name(document: str) -> str:
    """`2019/RedBoat_02.jpg` as `2019 Red Boat 02`; a name without words as it is."""
    words = _BETWEEN.sub(" ", _SUFFIX.sub("", document)).split()
    return " ".join(words) or document


# On which pages a passage stands, and what OCR read of it there. Pure.


class PagesOfPassage(NamedTuple):
    page: int | None
    last_page: int | None
    ocr_confidence: float | None
    word_boxes: bytes | None


class DocumentPages:
    """Pages of a document and the words that OCR read, by their places in its text."""

    def __init__(self, begins: Sequence[int], words: Sequence[WordBox]) -> None:
        """Args: where each page begins, none of a document without pages; and words in their order."""
        self._begins, self._words = begins, words
        self._starts = [word.start for word in words]
        self._read = {word.page for word in words}

    def of(self, start: int, text: str) -> PagesOfPassage:
        """Of a passage that begins at `start`."""
        end = start + len(text.rstrip())
        first, last = bisect_right(self._begins, start), bisect_left(self._begins, end)
        words = self._words[bisect_left(self._starts, start) : bisect_left(self._starts, end)]
        if words:
            return PagesOfPassage(first or None, last or None, mean_of(words), pack(words, start))
        sure = self._page_mean(first) if first == last and first in self._read else None
        return PagesOfPassage(first or None, last or None, sure, None)

    def _page_mean(self, page: int) -> float | None:
        """Of a passage none of whose words was found again, but whose page was read by OCR."""
        return mean_of([word for word in self._words if word.page == page])


# What storing a document did, as it is told.


def present(record: DocumentRecord, stored: StoreResult, notes: Sequence[str]) -> Ingested:
    """Tell what became of a document, with notes that a person should see."""
    change = stored.change
    replaced = f"it took the place of {change.replaced_uri}" if change.replaced_uri else None
    return Ingested(
        document_id=record.document_id,
        ontology=record.ontology,
        document=record.document,
        title=record.title,
        change=change.change,
        sources=SourceChanges(added=change.added, kept=change.kept, removed=change.removed),
        job_id=stored.job_id,
        duplicate_of=next(iter(change.same_text), None),
        notes=[*notes, *([replaced] if replaced else [])],
    )


# From a document's text to the record that is stored: parse, split, identify. Pure.


@dataclass(frozen=True, slots=True)
class Incoming:
    """A document on its way in."""

    ontology: str
    document: str
    text: str
    format: Format | None = None
    uri: str | None = None
    title: str | None = None
    metadata: dict[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])
    modified: str | None = None
    """When its file was last changed."""
    own_title: str = ""
    """What the file says; the text may say nothing of it."""
    pages: tuple[int, ...] = ()
    """Where each page begins in the text; none: it has no pages."""
    duplicates: Duplicates = "keep"
    """Of a new document that says what another says."""
    review: bool = False
    """Whether it waits for approval."""
    words: tuple[WordBox, ...] = ()
    """Of pages that OCR read."""
    scopes: tuple[CodeScope, ...] = ()
    """Of a program: where its functions and classes begin."""
    images: tuple[PlacedImage, ...] = ()
    """Pictures in it, in reading order."""
    original: str | None = None
    """The key of the file itself, where it is kept."""
    ocr: OcrMode = "auto"
    """Which of its pages are read by OCR."""
    hold: str | None = None
    """What keeps its files until the document is stored or waits."""


def incoming_of(upload: DocumentRequest, text: str) -> Incoming:
    """A document as a request brings it."""
    about = upload.model_dump(
        include={"format", "uri", "title", "metadata", "modified", "duplicates", "review", "ocr"}
    )
    return Incoming(upload.ontology, upload.document, text, **about)


def to_record(incoming: Incoming) -> tuple[DocumentRecord, tuple[str, ...]]:
    """Parse and split a document.

    Returns:
        The record, and notes that a person should see.

    Raises:
        UnreadableDocument: it has no text, or a format that this version does not read.
    """
    parsed = parse(incoming.text, incoming.document, incoming.format, incoming.scopes)
    marked = with_images(parsed, [(each.start, each.end) for each in incoming.images])
    return _record(incoming, marked), parsed.notes


def _record(incoming: Incoming, parsed: ParsedDocument) -> DocumentRecord:
    identity = document_id(incoming.ontology, incoming.document)
    sources = _sources(identity, parsed, incoming)
    if not sources:
        raise UnreadableDocument("it holds no text; nothing was stored")
    given = {**parsed.metadata, **incoming.metadata}
    metadata = json.dumps(given, ensure_ascii=False, sort_keys=True)
    dated = json.dumps(with_file_time(given, incoming.modified), ensure_ascii=False, sort_keys=True)
    return DocumentRecord(
        document_id=identity,
        ontology=incoming.ontology,
        document=incoming.document,
        title=incoming.title or (incoming.own_title or parsed.title)[:1000],
        uri=incoming.uri,
        format=parsed.format,
        content_hash=_content_hash(incoming, parsed.format, metadata),
        characters=len(parsed.text),
        preface=parsed.text[: parsed.body],
        metadata=dated,
        has_file_time=dated != metadata,
        sources=sources,
        skip_duplicate=incoming.duplicates == "skip",
        original=incoming.original,
        hold=incoming.hold,
        waits_as=json.dumps(asdict(incoming), ensure_ascii=False) if incoming.review else None,
    )


def _content_hash(incoming: Incoming, form: Format, metadata: str) -> str:
    """Of all that is stored; a title counts where it was given, not where it is read out of the text."""
    given = (SPLITTER_VERSION, form, incoming.text, incoming.uri or "", metadata)
    of_file = (incoming.own_title, str(incoming.pages)) if form in CONVERTED else ()
    of_pictures = (str(incoming.words),) if incoming.words else ()
    of_program = (json.dumps(incoming.scopes),) if incoming.scopes else ()
    of_images = tuple(each.image.storage_key for each in incoming.images)
    of_original = () if incoming.original is None else ("original", incoming.original)
    told = () if incoming.title is None else (incoming.title,)
    return digest(*given, *of_file, *of_pictures, *of_images, *of_original, *of_program, *told)


def _sources(identity: str, parsed: ParsedDocument, incoming: Incoming) -> tuple[SourceRecord, ...]:
    pages = DocumentPages(incoming.pages, incoming.words)
    spans = split(parsed)
    texts = [parsed.text[span.start : span.end] for span in spans]
    hashes = [content_hash(text) for text in texts]
    # By the number of a source, the picture that it is; the first, should it have the words of
    # several
    starts = [span.start for span in spans]
    images = {bisect_right(starts, each.start) - 1: each.image for each in reversed(incoming.images)}
    return tuple(
        SourceRecord(
            source_id,
            paragraph,
            span.heading,
            text,
            content,
            span.start,
            span.end,
            blocks,
            *pages.of(span.start, text),
            image=images.get(paragraph),
        )
        for paragraph, (source_id, span, text, content, blocks) in enumerate(
            zip(source_ids(identity, hashes), spans, texts, hashes, blocks_of(parsed, spans), strict=True)
        )
    )


# Messages as one Markdown document. Pure.
#
# Each message is a section of its own: a heading of level 2 says author and time, its text stands below. So
# each is a source of its own at least, and a conversation that goes on leaves the sources of what was said
# before as they are. A text whose own structure would reach beyond its section (a heading, a fence or a
# comment that never ends) becomes a quotation, `> ` before each of its lines, and stays as it is otherwise:
# whether it would is asked of the parser that will read the document. One of list marks alone, which would
# not be seen, stands in a fence.

_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_STRUCTURE = re.compile(
    r"^[ \t]*(?:#{1,6}(?:[ \t]|$)|=+[ \t]*$|-+[ \t]*$|`{3}|~{3}|<[A-Za-z/!?])", re.MULTILINE
)
"""A text without such a line can neither have headings nor leave anything open."""
_LIST_MARKS = re.compile(r"(?:[-+*>]|\d{1,9}[.)]|\s)*")
"""A text of these alone makes no block, and its heading would go to the next message."""
_CLOSING_MARKS = re.compile(r"(?:^|(?<=\s))(?=#+$)")
_FRAME = "## x\n\n"
_MAX_NAMED = 10


@dataclass(frozen=True, slots=True)
class ConsolidatedConversation:
    text: str
    notes: tuple[str, ...]
    """What a person should know."""


def consolidate(messages: Sequence[Message], title: str | None = None) -> ConsolidatedConversation:
    """Make one Markdown text of messages, in the order given; the same messages give the same text.

    Blank ones are left out, which a note says. The text of n messages is the beginning of that of n + 1.

    Raises:
        InvalidInput: no message says anything.
    """
    parts = [heading(title, 1)] if title is not None else []
    blank = [at for at, message in enumerate(messages, start=1) if is_blank(message.text)]
    if len(blank) == len(messages):
        raise InvalidInput("messages: none of them says anything; nothing was done")
    parts += [_section(message) for message in messages if not is_blank(message.text)]
    return ConsolidatedConversation("".join(parts), _notes(blank))


def incoming(conversation: Conversation) -> tuple[Incoming, tuple[str, ...]]:
    """Give a conversation as the document that is stored, and notes that a person should see.

    Raises:
        InvalidInput: no message says anything.
    """
    told = consolidate(conversation.messages, conversation.title)
    about = Incoming(
        ontology=conversation.ontology,
        document=conversation.title,
        text=told.text,
        format="markdown",
        title=conversation.title,
        metadata=conversation.metadata,
    )
    return about, told.notes


def quote_block(text: str) -> str:
    """Put `> ` before each line: whatever it says, it stays one block quotation."""
    return "\n".join(f"> {line}".rstrip() for line in NEWLINE.split(text))


def heading(words: str, level: int) -> str:
    """A heading of one line, whatever the words hold, with a blank line behind it."""
    return f"{'#' * level} {_one_line(words)}\n\n"


def _section(message: Message) -> str:
    when = f" — {message.timestamp.isoformat()}" if message.timestamp else ""
    return f"{heading(message.author + when, 2)}{_contain(message.text)}\n\n"


def _one_line(words: str) -> str:
    r"""Joined lines; `#` at the end are part of the words, not the end of the heading."""
    return _CLOSING_MARKS.sub(r"\\", " ".join(words.split()))


def _contain(text: str) -> str:
    lines = "\n".join(NEWLINE.split(text))
    said = _BLANK_LINES.sub("", lines).rstrip()
    if _LIST_MARKS.fullmatch(said):
        return f"```\n{said}\n```"
    return said if _keeps_to_itself(said) else quote_block(said)


def _keeps_to_itself(text: str) -> bool:
    if not _STRUCTURE.search(text):
        return True
    # Beside a very long line no table is read, and what was one may be a heading: both have to be harmless.
    return all(_is_one_section(each) for each in dict.fromkeys((text, text.replace("|", "¦"))))


def _is_one_section(text: str) -> bool:
    framed = f"{_FRAME}{text}\n\n{_FRAME}"
    headings = [block.start for block in blocks(framed) if block.kind == "heading"]
    return headings == [0, len(framed) - len(_FRAME)]


def _notes(blank: Sequence[int]) -> tuple[str, ...]:
    if not blank:
        return ()
    named = ", ".join(map(str, blank[:_MAX_NAMED])) + (" and more" if len(blank) > _MAX_NAMED else "")
    were = "1 blank message was" if len(blank) == 1 else f"{len(blank)} blank messages were"
    return (f"{were} left out: number {named}",)


# From what is sent, text or a file of any kind, to a document's text and what the file says of itself.

Notes = tuple[str, ...]
"""What a person should see."""

_SHOWN, _MAX_SHOWN = 3, 100
"""Names in a note, and the characters of each."""


class Converters(Protocol):
    """What reads files that may be hostile. Each method raises UnreadableDocument where it cannot."""

    def convert(self, data: bytes, form: ConvertedFormat, ocr: OcrMode = "auto") -> Converted:
        """Make Markdown of a file."""
        ...

    def convert_with(
        self, data: bytes, form: Literal["html", "markdown"], beside: Mapping[str, bytes]
    ) -> Converted:
        """Make Markdown of a page, or find places in a Markdown text; pictures by their references."""
        ...

    def pictures_read_by(self) -> str:
        """What reads pages that are pictures, as one word: another one may read more of the same file."""
        ...

    def find_scopes(self, data: bytes, suffix: str) -> Sequence[CodeScope]:
        """Find the functions and classes of a program."""
        ...


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """Reads text as it is, and converts what is no plain text."""

    converters: Converters
    images: ImageKeeper = field(default_factory=LookingKeeper)
    """Keeps the pictures of what is read."""
    keep_pdfs: bool = False
    """Whether PDFs are kept as they came, for their pages to be shown."""

    def pdfs_read_by(self) -> str:
        """What becomes of a PDF, as one word: by another one, more becomes of the same file."""
        return self.converters.pictures_read_by() + ("+original" if self.keep_pdfs else "")

    def looking(self) -> DocumentReader:
        """The same reader, which keeps nothing."""
        return replace(self, images=LookingKeeper())

    def from_bytes(
        self, content: bytes, incoming: Incoming, beside: Mapping[str, bytes] | None = None
    ) -> tuple[Incoming, Notes]:
        """Read a file; `incoming.text` is replaced by what it says.

        Args:
            content: the file's.
            incoming: what is known of it.
            beside: pictures that it names, by their references as `key_of` gives them.

        Raises:
            UnreadableDocument: it is neither text in a known encoding nor of a kind that is read.
        """
        form = format_of(incoming.document, incoming.format, content)
        files = beside or {}
        if form in CONVERTED:
            read, notes = self._converted(content, replace(incoming, format=form), files)
            # What is told of a file whose name says that it is something else
            named = PurePath(incoming.document).suffix.lower() in CONVERTED[cast("ConvertedFormat", form)]
            kind = {"pdf": "a PDF", "image": "a picture"}.get(form)
            other = (
                () if named or incoming.format or not kind else (f"read as {kind}, whatever its name says",)
            )
            return read, (*other, *notes, *_missing(references_of(content, form), files))
        text, notes = decode(content)
        if form == "markdown":
            read, more = self._markdown(replace(incoming, text=text), files)
            return read, (*notes, *more, *_missing(references(text, form), files), *_elsewhere(text))
        read, more = self._program(replace(incoming, text=text))
        return read, (*notes, *more)

    def from_text(self, incoming: Incoming) -> tuple[Incoming, Notes]:
        """Read a document that was sent as text: HTML and the like are converted.

        Raises:
            UnreadableDocument: a file of its kind is no text.
        """
        form = format_of(incoming.document, incoming.format)
        if form == "markdown":
            text, inline = take_inline_images(incoming.text)
            return replace(incoming, text=text), (*_elsewhere(text), *_inline(len(inline)))
        if form not in CONVERTED:
            return self._program(incoming)
        if form not in IN_TEXT:
            raise UnreadableDocument(
                f"a file of the kind {form} is no text: send the file itself, by `kg ingest FILE` or as "
                "multipart/form-data; or name its format, such as markdown, if this is the text of it"
            )
        content = ("\ufeff" + check_text(incoming.text)).encode()  # whatever it says of its own encoding
        return self._converted(content, replace(incoming, format=form))

    def _converted(
        self, content: bytes, incoming: Incoming, beside: Mapping[str, bytes] | None = None
    ) -> tuple[Incoming, Notes]:
        if incoming.format == "html" and beside:
            made = self.converters.convert_with(content, "html", beside)
        else:
            made = self.converters.convert(content, cast("ConvertedFormat", incoming.format), incoming.ocr)
        if incoming.format == "image":
            made = with_words(made, incoming.document, incoming.title, incoming.metadata)
        original = content if self.keep_pdfs and incoming.format == "pdf" else None
        kept = self.images.keep([each.image for each in made.images], original)
        given = {**made.metadata, **incoming.metadata}
        read = replace(
            incoming,
            text=made.text,
            own_title=made.title,
            metadata=given,
            pages=tuple(made.pages),
            words=tuple(made.words),
            images=place_images(made.images, kept.images),
            original=kept.original,
            hold=kept.hold,
        )
        return read, made.notes

    def _markdown(self, incoming: Incoming, beside: Mapping[str, bytes]) -> tuple[Incoming, Notes]:
        """Its text stays, but for images in addresses; the converting process only finds places of images."""
        text, inline = take_inline_images(incoming.text)
        files, notes = {**beside, **inline}, _inline(len(inline))
        if not files:
            return incoming, ()
        incoming = replace(incoming, text=text)
        try:
            made = self.converters.convert_with(check_text(text).encode(), "markdown", files)
        except UnreadableDocument as error:
            return incoming, (*notes, f"its pictures were not taken: {error}")
        kept = self.images.keep([each.image for each in made.images])
        read = replace(incoming, images=place_images(made.images, kept.images), hold=kept.hold)
        return read, (*notes, *made.notes)

    def _program(self, incoming: Incoming) -> tuple[Incoming, Notes]:
        """Find the functions and classes of a program; without them it is read by its blank lines."""
        suffix = PurePath(incoming.document).suffix.lower().removeprefix(".")
        if suffix not in SUFFIXES or incoming.format not in {None, "text"}:
            return incoming, ()
        try:
            scopes = self.converters.find_scopes(check_text(incoming.text).encode(), suffix)
        except UnreadableDocument as error:
            return incoming, (f"its functions and classes were not told apart: {error}",)
        return replace(incoming, scopes=tuple(scopes)), ()


def _elsewhere(text: str) -> Notes:
    """What is told of pictures that a Markdown text shows from a network."""
    count = count_elsewhere(text)
    return (f"pictures at addresses are not fetched ({count:,})",) if count else ()


def _inline(count: int) -> Notes:
    return (f"images in addresses were taken out of the text ({count:,})",) if count else ()


def _missing(named: Sequence[str], beside: Collection[str]) -> Notes:
    """What is told of pictures that a document names and that did not come with it."""
    missing = [each for each in named if each not in beside]
    shown = ", ".join(each[-_MAX_SHOWN:] for each in missing[:_SHOWN]) + (
        ", ..." if len(missing) > _SHOWN else ""
    )
    return (
        (f"pictures that it names and that did not come with it ({len(missing):,}): {shown}",)
        if missing
        else ()
    )


# Storing many documents, each with its own outcome: one that cannot be stored costs no other its place.

log = structlog.get_logger()

Prepared = tuple[DocumentRecord, tuple[str, ...]]
"""What is to be stored, and notes that a person should see."""
Part = Sequence[DocumentRecord]
"""What one transaction is to store."""
Stored = dict[str, StoreResult | KgError]
"""By document id, what storing did or why it did not."""


def ingest_each(
    graph: Graph, given: Sequence[Any], reader: DocumentReader, extract: AskForExtraction | None
) -> list[DocumentOutcome]:
    """Check, parse and store documents; what is wrong with one is told of that one.

    Raises:
        Unavailable: nothing can be stored now, and nothing was.
    """
    prepared = _prepare(given, reader)
    records = [each[0] for each in prepared if not isinstance(each, Problem)]
    stored = store_each(graph, records, extract)
    return [_outcome(each, stored) for each in prepared]


def store_each(graph: Graph, records: Sequence[DocumentRecord], extract: AskForExtraction | None) -> Stored:
    """Store documents of any ontology, each name once, many a transaction.

    What a transaction cannot store is stored in two of half as many, down to the one that cannot be.

    Raises:
        Unavailable: nothing can be stored now, and nothing was. Where something was, it is the outcome of all
            that was not.
    """
    outcomes: Stored = {}
    waiting = deque(_parts(records))
    while waiting:
        part = waiting.popleft()
        try:
            outcomes.update(_by_id(part, store_documents(graph, part, extract)))
        except Unavailable as error:
            if not any(isinstance(each, StoreResult) for each in outcomes.values()):
                raise
            left = [record for some in (part, *waiting) for record in some]
            return outcomes | _by_id(left, [error] * len(left))
        except KgError as error:
            outcomes.update(_give_up_or_halve(part, error, waiting))
        except Exception:  # the border of a document: one that kg fails on must not stop all others
            log.exception("documents cannot be stored", documents=len(part))
            outcomes.update(_give_up_or_halve(part, KgError(SOMETHING_WRONG), waiting))
    return outcomes


def _give_up_or_halve(part: Part, error: KgError, waiting: deque[Part]) -> Stored:
    if len(part) == 1:
        return _by_id(part, [error])
    half = len(part) // 2
    waiting.extendleft([part[half:], part[:half]])
    return {}


def _by_id(records: Sequence[DocumentRecord], outcomes: Sequence[StoreResult | KgError]) -> Stored:
    return {record.document_id: outcome for record, outcome in zip(records, outcomes, strict=True)}


def _parts(records: Sequence[DocumentRecord]) -> Iterator[Part]:
    of_ontology: dict[str, list[DocumentRecord]] = {}
    for each in records:
        of_ontology.setdefault(each.ontology, []).append(each)
    for some in of_ontology.values():
        yield from split_to_transactions(some)


def _prepare(given: Sequence[Any], reader: DocumentReader) -> list[Prepared | Problem]:
    named: set[tuple[str, str]] = set()
    return [_read(each, reader, named) for each in given]


def _read(given: Any, reader: DocumentReader, named: set[tuple[str, str]]) -> Prepared | Problem:
    """Check and parse one document; of two with one name in one ontology, the later one is refused."""
    try:
        body = DocumentText.model_validate(given)
    except ValidationError as error:
        return problem_of_fields(error.errors())
    if (body.ontology, body.document) in named:
        return problem_of(_named_twice(body.document))
    named.add((body.ontology, body.document))
    try:
        return _parse(body, reader)
    except KgError as error:
        return problem_of(error)
    except Exception:  # the border of a document, as above
        log.exception("a document cannot be parsed", document=body.document)
        return problem_of(KgError(SOMETHING_WRONG))


def _parse(body: DocumentText, reader: DocumentReader) -> Prepared:
    require(body.ontology)
    incoming, notes = reader.from_text(incoming_of(body, body.text))
    record, more = to_record(incoming)
    return record, (*notes, *more)


def _named_twice(document: str) -> InvalidInput:
    return InvalidInput(
        f"document: an earlier one of this batch has the name {document!r} too, and only that was looked at; "
        "give this one another name, or send it in a request of its own"
    )


def _outcome(prepared: Prepared | Problem, stored: Stored) -> DocumentOutcome:
    if isinstance(prepared, Problem):
        return DocumentOutcome(problem=prepared)
    record, notes = prepared
    found = stored[record.document_id]
    if isinstance(found, KgError):
        return DocumentOutcome(problem=problem_of(found))
    return DocumentOutcome(ingested=present(record, found, notes))


# Approving documents that waited: they are stored as if they came now.

APPROVED_A_REQUEST = 100
"""Of all that wait."""
_GIVEN = TypeAdapter(Incoming)


class ReviewService:
    """Approves and rejects."""

    def __init__(self, graph: Graph, extract: AskForExtraction) -> None:
        self._graph = graph
        self._extract = extract

    def approve(self, review: Approval) -> Approved:
        """Store documents that wait, each with its own outcome.

        Raises:
            Unavailable: nothing can be stored now, and nothing was.
        """
        require(review.ontology)
        limit = APPROVED_A_REQUEST
        found = read_waiting(
            self._graph, review.ontology, review.documents, after=review.after or "", limit=limit
        )
        further = review.all and len(found) == limit
        return Approved(
            outcomes=self._store(found),
            unknown=_unknown(review.documents, {each.document for each in found}),
            next=found[-1].document if further else None,
        )

    def reject(self, review: Review) -> Rejected:
        """Let documents wait no more; nothing of them is kept but what files were rejected."""
        require(review.ontology)
        names = reject_waiting(self._graph, review.ontology, review.documents, limit=MAX_REVIEWED)
        return Rejected(
            rejected=len(names),
            unknown=_unknown(review.documents, names),
            waiting=sum(count_waiting(self._graph, review.ontology).values()),
        )

    def _store(self, found: Sequence[GivenDocument]) -> list[DocumentOutcome]:
        prepared = [_prepare_review(each) for each in found]
        records = [each[0] for each in prepared if not isinstance(each, Problem)]
        stored = store_each(self._graph, records, self._extract) if records else {}
        # Let folders bring again what cannot be stored as it waits, though it looks as it did
        lost = [key for key, outcome in stored.items() if isinstance(outcome, FilesCollected)]
        if lost:
            forget_waiting_files(self._graph, lost)
        return [
            DocumentOutcome(problem=each)
            if isinstance(each, Problem)
            else _outcome_review(each, stored[each[0].document_id])
            for each in prepared
        ]


def _prepare_review(waiting: GivenDocument) -> Prepared | Problem:
    """Parsed anew, by the version of kg that stores it; its files are kept because it waits."""
    try:
        record, notes = to_record(replace(_GIVEN.validate_json(waiting.given), review=False, hold=None))
    except KgError as error:
        return problem_of(error)
    except Exception:  # the border of a document: one that kg fails on must not stop all others
        log.exception("a document that waited cannot be parsed", document=waiting.document)
        return problem_of(KgError(SOMETHING_WRONG))
    return replace(record, approves=waiting.version), notes


def _outcome_review(prepared: Prepared, stored: StoreResult | KgError) -> DocumentOutcome:
    if isinstance(stored, KgError):
        return DocumentOutcome(problem=problem_of(stored))
    return DocumentOutcome(ingested=present(prepared[0], stored, prepared[1]))


def _unknown(asked: Sequence[str] | None, found: set[str]) -> list[str]:
    return [each for each in dict.fromkeys(asked or ()) if each not in found]


# Ingestion: request -> parse -> split -> one transaction (sources and jobs) -> answer. Workers go on.


@dataclass(frozen=True, slots=True)
class Preview:
    """What ingesting a document would do."""

    record: DocumentRecord
    change: StoredChange
    new: list[SourceRecord]
    notes: list[str]


class _NotAll(Exception):
    """Some documents are to be sent again: the answer is not kept."""


class IngestService:
    """Takes documents in."""

    def __init__(self, graph: Graph, reader: DocumentReader, extract: AskForExtraction) -> None:
        self._graph = graph
        self._reader = reader
        self._extract = extract

    def ingest_text(self, incoming: Incoming, notes: Sequence[str] = ()) -> Ingested:
        """Store a document that is text already.

        Raises:
            UnreadableDocument: it holds no text, or its format is not read.
            DatabaseUnavailable: Neo4j does not answer; nothing was stored.
        """
        require(incoming.ontology)
        return self._store(*self._reader.from_text(incoming), notes)

    def ingest_bytes(
        self, content: bytes, incoming: Incoming, beside: Mapping[str, bytes] | None = None
    ) -> Ingested:
        """Store a file's content; `incoming.text` is replaced by it.

        Args:
            content: the file's.
            incoming: what is known of it.
            beside: pictures that it names, by their references.

        Raises:
            UnreadableDocument: it is not text in any known encoding, nor of another kind that is read.
        """
        require(incoming.ontology)
        return self._store(*self._reader.from_bytes(content, incoming, beside))

    def ingest_batch(self, batch: GivenBatch, key: str | None = None) -> IngestedBatch:
        """Store documents, each with its own outcome; the first of one name.

        Args:
            batch: as it was sent.
            key: the same answer is given to the same key, unless some could not be stored at that moment.

        Raises:
            Unavailable: nothing can be stored now, and nothing was.
            Conflict: the key was used for something else.
        """
        if key is None:
            return self._ingest_each(batch)
        done: list[IngestedBatch] = []

        def ingest() -> dict[str, Any]:
            if not done:  # the transaction that holds the key may run twice
                done.append(self._ingest_each(batch))
            if any(each.problem and each.problem.status in PASSING for each in done[0].outcomes):
                raise _NotAll
            return done[0].model_dump(mode="json")

        sent = digest("batch", json.dumps(batch.documents, sort_keys=True))
        try:
            answer, _ = self._graph.transaction(lambda tx: once(tx, key, sent, ingest))
        except _NotAll:
            return done[0]
        except KgError:  # it took longer than a transaction may: all the same it is done
            if done:
                return done[0]
            raise
        return IngestedBatch.model_validate(answer)

    def _ingest_each(self, batch: GivenBatch) -> IngestedBatch:
        return IngestedBatch(outcomes=ingest_each(self._graph, batch.documents, self._reader, self._extract))

    def preview_text(self, incoming: Incoming) -> Preview:
        """Say what `ingest_text` would do; nothing is stored.

        Raises:
            UnreadableDocument: it holds no text, or its format is not read.
        """
        require(incoming.ontology)
        return self._preview(*self._reader.looking().from_text(incoming))

    def preview_bytes(
        self, content: bytes, incoming: Incoming, beside: Mapping[str, bytes] | None = None
    ) -> Preview:
        """Say what `ingest_bytes` would do; nothing is stored."""
        require(incoming.ontology)
        return self._preview(*self._reader.looking().from_bytes(content, incoming, beside))

    def _store(self, incoming: Incoming, read: Sequence[str], notes: Sequence[str] = ()) -> Ingested:
        record, more = to_record(incoming)
        stored = store_document(self._graph, record, self._extract)
        return present(record, stored, [*notes, *read, *more])

    def _preview(self, incoming: Incoming, read: Sequence[str]) -> Preview:
        record, more = to_record(incoming)
        change, new = preview_document(self._graph, record)
        return Preview(record, change, new, [*read, *more])
