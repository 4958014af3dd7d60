"""Which files of a folder are taken, and what each is called: the same for an ingest and for a scan."""

from __future__ import annotations

import codecs
import os
import re
import stat
import struct
from codecs import BOM_UTF8
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import NamedTuple

import webencodings
from charset_normalizer import CharsetMatch, from_bytes

from kg_api.errors import InvalidInput, UnreadableDocument
from kg_api.schemas.base import document_name
from kg_api.schemas.documents import Block, CodeScope, ParsedDocument
from kg_api.schemas.formats import CONVERTED, NOT_READ, PROGRAMS, UNREAD_PICTURES, ConvertedFormat, Format
from kg_api.text import markdown, org, rst
from kg_api.text.markdown import FrontMatter, plain_title, read_front_matter
from kg_api.text.sources import EMPTY, FolderFilter, FolderRules, is_blank

_SEEN_BYTES = 4096


@dataclass(frozen=True, slots=True)
class FileToIngest:
    """A file and the name of its document: the path below the folder given, with `/`."""

    path: Path
    document: str
    folder: Path | None = None
    """The folder that was given; None: it was given itself."""

    @property
    def root(self) -> Path:
        """What it may refer to lies in here."""
        return (self.folder or self.path.parent).resolve()


class FileProblem(NamedTuple):
    """A path that cannot be taken."""

    path: str
    reason: str
    document: str
    """The name its document would have; of a folder that cannot be listed, what those below it begin with."""


@dataclass(slots=True)
class FileSelection:
    """What was found under the paths given."""

    files: list[FileToIngest] = field(default_factory=list[FileToIngest])
    left_out: Counter[str] = field(default_factory=Counter[str])
    """How many files of each other ending, in folders; they are told, not passed over silently."""
    review: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Path of each file or folder that was left out, and why or its ending."""
    problems: list[FileProblem] = field(default_factory=list[FileProblem])

    def leave_out(self, path: Path, kind: str) -> None:
        self.left_out[kind] += 1
        self.review.append((to_printable(path), kind))


def select(
    paths: Iterable[Path],
    suffixes: Collection[str],
    prefix: str = "",
    passed_over: Callable[[Path], bool] = lambda _: False,
    rules: FolderRules | None = None,
) -> FileSelection:
    """Find the files under some paths: a file as it is, a folder with all below it that can be read.

    Hidden files and folders are passed over, and links to folders are not followed. Two files that would have
    the same name are a problem of the second: it would take the place of the first.

    Args:
        paths: files and folders.
        suffixes: of the files that are taken from folders.
        prefix: goes before each document's name.
        passed_over: whether a folder is left out with all that is below it.
        rules: what else is left out of folders, and then files that are empty or blank, too. None: nothing.

    Raises:
        InvalidInput: a path does not exist, or a pattern is none.
    """
    selection = FileSelection()
    owners: dict[str, Path] = {}
    for path in paths:
        within = path.is_dir()
        chosen = FolderFilter(path, rules) if within and rules else None
        for found in _below(path, prefix, selection, passed_over, chosen):
            if within and (kind := _unwanted(found, suffixes, chosen)):
                selection.leave_out(found, kind)
                continue
            document = document_name(prefix + (found.relative_to(path).as_posix() if within else path.name))
            _take(FileToIngest(found, document, path if within else None), owners, selection)
    return selection


def to_printable(path: str | Path) -> str:
    """A path as it can be printed: what is no UTF-8 in it is replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def _unwanted(file: Path, suffixes: Collection[str], chosen: FolderFilter | None) -> str | None:
    """Why a file of a folder is not taken, or its ending, which is not read; None: it is."""
    if chosen and (reason := chosen.reason_of(file)):
        return reason
    if file.suffix.lower() not in suffixes:
        return to_printable(file.suffix.lower()) or "no ending"
    return EMPTY if chosen and is_empty(file) else None


def is_empty(file: Path) -> bool:
    """Whether it says nothing, or only blanks; what cannot be looked at is told later."""
    try:
        return stat.S_ISREG(file.stat().st_mode) and _is_blank(file)
    except OSError:
        return False


def _is_blank(file: Path) -> bool:
    with file.open("rb") as content:
        said = content.read(_SEEN_BYTES).removeprefix(BOM_UTF8)
        while not said or said.isspace():
            if not (said := content.read(_SEEN_BYTES)):
                return True
    return False


def _below(
    path: Path,
    prefix: str,
    selection: FileSelection,
    passed_over: Callable[[Path], bool],
    chosen: FolderFilter | None,
) -> Iterator[Path]:
    if not path.exists():
        raise InvalidInput(f"{to_printable(path)}: no such file or folder")
    if not path.is_dir():
        yield path
        return

    def unlisted(error: OSError) -> None:
        below = Path(error.filename).relative_to(path)
        beginning = document_name(prefix + (f"{below.as_posix()}/" if below.parts else ""))
        reason = f"cannot be listed: {error.strerror}"
        selection.problems.append(FileProblem(to_printable(error.filename), reason, beginning))

    for folder, subfolders, files in os.walk(path, onerror=unlisted):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        subfolders[:] = [
            name for name in subfolders if _is_entered(Path(folder, name), selection, passed_over, chosen)
        ]
        yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))


def _is_entered(
    folder: Path,
    selection: FileSelection,
    passed_over: Callable[[Path], bool],
    chosen: FolderFilter | None,
) -> bool:
    """Whether files are looked for below a folder; if not, it is told."""
    if passed_over(folder):
        selection.leave_out(folder, "folder of kg itself")
        return False
    if chosen and (reason := chosen.reason_of(folder, is_folder=True)):
        selection.leave_out(folder, f"folder {reason}")
        return False
    if folder.is_symlink():  # which the walk does not follow
        selection.leave_out(folder, "link to a folder")
    return True


def _take(file: FileToIngest, owners: dict[str, Path], selection: FileSelection) -> None:
    problem = _problem(file)
    owner = None if problem else owners.setdefault(file.document, file.path)
    if owner is file.path:
        selection.files.append(file)
    elif owner is not None and not owner.samefile(file.path):
        problem = (
            f"the name {file.document!r} is taken by {to_printable(owner)}; ingest it by itself with --prefix"
        )
    if problem:
        selection.problems.append(FileProblem(to_printable(file.path), problem, file.document))


def _problem(file: FileToIngest) -> str | None:
    """Why a file cannot be taken; reading a pipe or a device would not end."""
    try:
        file.document.encode()
        regular = stat.S_ISREG(file.path.stat().st_mode)
    except UnicodeEncodeError:
        return "its name is not valid UTF-8; rename it"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None if regular else "cannot be read: it is a pipe, a socket or a device, not a file"


# Pictures: which bytes are one, and which blocks of a document are the words of one.

_BEGINNINGS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*")
_BMP_HEADERS = (12, 40, 52, 56, 64, 108, 124)
_BMP_HEAD = struct.Struct("<2sI4xII")

Place = tuple[int, int]
"""Where the words of a picture begin and end."""


def is_image(data: bytes) -> bool:
    """Whether bytes are plainly a picture of a kind that is read, by how they begin."""
    if data.startswith(_BEGINNINGS) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP"):
        return True
    if not data.startswith(b"BM") or len(data) < _BMP_HEAD.size:
        return False
    _, _, _, header = _BMP_HEAD.unpack_from(data)
    return header in _BMP_HEADERS


def with_images(document: ParsedDocument, places: Sequence[Place]) -> ParsedDocument:
    """The same document, where blocks that say nothing but a picture's words are pictures."""
    if not places:
        return document
    return replace(document, blocks=tuple(_marked(document, places)))


def _marked(document: ParsedDocument, places: Sequence[Place]) -> Iterator[Block]:
    left = deque(places)
    for block in document.blocks:
        here: list[Place] = []
        while left and left[0][0] < block.end:
            here.append(left.popleft())
        within = [(start, end) for start, end in here if start >= block.start and end <= block.end]
        yield from _divided(document.text, block, within)


def _divided(text: str, block: Block, places: Sequence[Place]) -> Iterator[Block]:
    """A block whose lines are pictures and others is as many blocks."""
    at = block.start
    for start, end in places:
        if not is_blank(text, at, start):
            yield replace(block, start=at, end=start)
            at = start
        stop = block.end if is_blank(text, end, block.end) else end
        yield replace(block, kind="image", start=at, end=stop)
        at = stop
    if at < block.end:
        yield replace(block, start=at)


# What files plainly are by how they begin, of the kinds that are neither text nor read as pictures.

_BINARY = (
    (b"%PDF-", "a PDF file"),
    (b"PK\x03\x04", "a ZIP archive (DOCX, EPUB, XLSX and ODT are such archives)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\xd0\xcf\x11\xe0", "an old Microsoft Office file"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF87a", "a GIF picture"),
    (b"GIF89a", "a GIF picture"),
    (b"RIFF", "a RIFF file (WebP, WAV or AVI)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an XZ archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"{\\rtf", "an RTF file"),
)
_UNREAD_PICTURES = (
    (b"8BPS", "a Photoshop picture"),
    (b"\x00\x00\x00\x0cJXL ", "a JPEG XL picture"),
    (b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture"),
)
_BRANDS = (
    (frozenset({b"avif", b"avis"}), "an AVIF picture"),
    (frozenset({b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1"}), "a HEIC picture"),
)
_MAX_BRANDS = 256
"""Bytes of the list of brands of a media file that are looked at."""

EXPORT = "export it as JPEG or PNG in the program that shows it, and take that"
"""What is to be done with a picture of a kind that is not read."""


def binary_kind(data: bytes) -> str | None:
    """What kind of file bytes are that are no text, as far as that is plain."""
    return next((what for magic, what in _BINARY if data.startswith(magic)), None)


def unread_picture(data: bytes) -> str | None:
    """What kind of picture bytes are, of those that are not read."""
    if data[4:8] == b"ftyp":
        brands = data[8 : min(int.from_bytes(data[:4]), _MAX_BRANDS)]
        named = {brands[at : at + 4] for at in range(0, len(brands), 4)}
        return next((what for some, what in _BRANDS if some & named), None)
    return next((what for magic, what in _UNREAD_PICTURES if data.startswith(magic)), None)


# From the bytes of a file to its text. Newlines stay as they are: offsets mean the file's own text.

MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_CHARSETS = (  # of equally good guesses the first is taken: the most used one
    *("cp1252", "cp1250", "cp1251", "cp1254", "cp1253", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("koi8_r", "koi8_u", "cp874", "gb18030", "big5", "cp932", "euc_jp", "cp949"),
)
_AS_CLEAN = 0.001
_AS_COHERENT = 0.02

_SURROGATE = re.compile("[\ud800-\udfff]")

READS = (
    "kg reads Markdown, reStructuredText, Org, plain text, source code, HTML, PDF, DOCX, PPTX, XLSX, CSV, "
    "EPUB, e-mail (.eml), notebooks (.ipynb) and pictures (PNG, JPEG, WebP, GIF, TIFF, "
    "BMP); save it as one of these, with the ending that belongs to it, and ingest that."
)
"""The end of every message about a file that cannot be read."""


def decode(data: bytes) -> tuple[str, tuple[str, ...]]:
    """Turn a file's bytes into text: by its byte-order mark, as UTF-8, or by a guess that is noted.

    Returns:
        The text without byte-order mark, its newlines untouched, and notes that a person should see.

    Raises:
        UnreadableDocument: the bytes are not text, or not in an encoding that can be told.
    """
    if picture := unread_picture(data):
        raise UnreadableDocument(f"this is {picture}, a kind that is not read: {EXPORT}")
    if what := binary_kind(data):
        raise UnreadableDocument(f"this is {what}. {READS}")
    text, notes = _decode_marked(data) or _decode_unmarked(data)
    return check_text(text), notes


def check_text(text: str) -> str:
    r"""Give the text back if it can be stored.

    Raises:
        InvalidInput: half of a surrogate pair is in it, which no encoding can hold.
        UnreadableDocument: it contains U+0000, which only binary files do.
    """
    half = None if text.isascii() else _SURROGATE.search(text)
    if half:
        raise InvalidInput(
            f"the text has half of a surrogate pair (U+{ord(half[0]):04X}) at offset {half.start()}; "
            "it is no valid Unicode. Decode it with the right encoding and send it again."
        )
    if (null := text.find("\x00")) >= 0:
        raise UnreadableDocument(f"the character U+0000 is at offset {null}: not a text file. {READS}")
    return text


def _decode_marked(data: bytes) -> tuple[str, tuple[str, ...]] | None:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding), ()
            except UnicodeDecodeError as error:
                raise UnreadableDocument(
                    f"its byte-order mark says {encoding}, but byte {error.start + len(mark)} does not fit. "
                    f"{READS}"
                ) from error
    return None


def _decode_unmarked(data: bytes) -> tuple[str, tuple[str, ...]]:
    if (zero := data.find(0)) >= 0:
        raise UnreadableDocument(
            f"not a text file (NUL byte at {zero}), or UTF-16 without a byte-order mark. {READS}"
        )
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError:
        return _decode_guessed(data)


def _decode_guessed(data: bytes) -> tuple[str, tuple[str, ...]]:
    encoding = guess_encoding(data)
    if encoding is None:
        raise UnreadableDocument(f"it is not UTF-8, and no other encoding fits. {READS}")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:  # the guess was made from samples
        raise UnreadableDocument(
            f"it is not UTF-8; {encoding} fits best, but not byte {error.start}. {READS}"
        ) from error
    return text, (f"read as {encoding}: the file is not UTF-8 and does not say what it is",)


def guess_encoding(data: bytes) -> str | None:
    """The encoding that bytes look most like, of those in use; None: they look like none."""
    matches = list(from_bytes(data, cp_isolation=list(_CHARSETS)))
    return _most_used(matches) if matches else None


def _most_used(matches: list[CharsetMatch]) -> str:
    """Prefer the common one where several read nearly alike; cp1250 would take all Spanish otherwise."""
    best = matches[0]
    alike = {
        encoding
        for match in matches
        if match.chaos <= best.chaos + _AS_CLEAN and match.coherence >= best.coherence - _AS_COHERENT
        for encoding in match.could_be_from_charset
    }
    return next((encoding for encoding in _CHARSETS if encoding in alike), best.encoding)


# Text of files that name their encoding, or do not: by mark, by what they say, as UTF-8, by a guess.

_WIDE = ("utf-16", "utf-32")
_ONE_BYTE = frozenset({"koi8-r", "koi8-u", *(f"cp125{digit}" for digit in range(9))}) | {
    *(f"iso8859-{number}" for number in range(1, 17)),
}
"""Codecs that take almost any byte: UTF-8 that is labelled so is not found out by an error."""
_JAPANESE = "iso2022_jp+nec"
_SUPERSETS = {"iso2022_jp": ("iso2022_jp_ext", _JAPANESE), "euc_jp": ("euc_jis_2004",)}
_SAMPLE = 200_000
_DECLARED = re.compile(
    rb"""<meta[^<>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]{1,40})|<\?xml[^<>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""",
    re.IGNORECASE,
)
_HEAD_BYTES = 4_096


def decode_declared(data: bytes, declared: str = "") -> tuple[str, tuple[str, ...]]:
    """Return the text, and notes that a person should see.

    Args:
        data: bytes of a file or of a part.
        declared: label of the encoding that the file names, read as browsers read it (WHATWG).

    Raises:
        UnreadableDocument: the bytes are not text, or not in an encoding that can be detected.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), ()
    codec = _find_codec(declared)
    if b"\x00" in data:
        if not codec.startswith(_WIDE):
            raise UnreadableDocument("it has NUL bytes: not a text file; save it again, as UTF-8")
        return data.decode(codec, "replace"), ()
    if codec.startswith(_WIDE):  # the label itself was readable byte by byte
        codec = "utf-8"
    if codec in _ONE_BYTE and not data.isascii() and (text := _try(data, "utf-8")) is not None:
        return text, (f"read as UTF-8: the file says that it is {declared}, which does not fit",)
    for encoding in (codec, *_SUPERSETS.get(codec, ()), "utf-8"):
        if (text := _try(data, encoding)) is not None:
            return text, ()
    return _guess(data)


def _try(data: bytes, codec: str) -> str | None:
    if codec == _JAPANESE:  # signs such as ① of NEC's row, which Python knows in another set only
        data, codec = data.replace(b"\x1b$B", b"\x1b$(Q").replace(b"\x1b$@", b"\x1b$(Q"), "iso2022_jp_2004"
    try:
        return data.decode(codec)
    except (UnicodeError, LookupError):
        return None


def _find_codec(label: str) -> str:
    """Return the codec that a label means in browsers, or else in Python; UTF-8 for an unknown label."""
    known = webencodings.lookup(label)
    if known and known.name not in {"replacement", "x-user-defined"}:
        name = known.codec_info.name
    else:
        try:
            name = codecs.lookup(label).name if label else "utf-8"
            "".encode(name)
        except (LookupError, ValueError):
            return "utf-8"
    return {"gbk": "gb18030"}.get(name, name)


def _guess(data: bytes) -> tuple[str, tuple[str, ...]]:
    encoding = guess_encoding(data[:_SAMPLE])
    if encoding is None:
        raise UnreadableDocument("it is not UTF-8, and no other encoding fits; save it again, as UTF-8")
    note = f"read as {encoding}: the file is not UTF-8 and does not say what it is"
    return data.decode(encoding, "replace"), (note,)


def declared_encoding(data: bytes) -> str:
    """What a page says of its encoding, in its head."""
    said = _DECLARED.search(data[:_HEAD_BYTES])
    return (said[1] or said[2]).decode("ascii", "replace") if said else ""


# Documents of every format that kg reads: one table, one module per format.


@dataclass(frozen=True, slots=True)
class _Reader:
    """How files with these suffixes are read."""

    format: Format
    suffixes: frozenset[str]
    blocks: Callable[[str], Iterable[Block]]
    own_title: Callable[[str], str] = lambda _: ""
    """The title that the document gives itself in front of its text, or nothing."""
    front: Callable[[str], FrontMatter] = lambda _: FrontMatter()
    """What the document says of itself before its text begins."""


def _suffixes(names: str) -> frozenset[str]:
    return frozenset(f".{name}" for name in names.split())


_READERS = (
    _Reader("markdown", _suffixes("md markdown"), markdown.blocks, front=read_front_matter),
    _Reader("rst", _suffixes("rst rest"), rst.blocks, rst.pep_title),
    _Reader("org", _suffixes("org"), org.blocks, front=org.read_keywords),
    _Reader("text", _suffixes("txt text"), markdown.text_blocks),
    _Reader("text", PROGRAMS, markdown.program_blocks),
    *(
        _Reader(form, suffixes, markdown.whole_image if form == "image" else markdown.blocks)
        for form, suffixes in CONVERTED.items()
    ),
)

SUFFIXES = frozenset(suffix for reader in _READERS for suffix in reader.suffixes)
"""Suffixes, in lower case with their dot, of the files that are taken from a folder."""

_PDF = b"%PDF-"
_HIDDEN = re.compile("[\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


def format_of(name: str, format: Format | None = None, data: bytes = b"") -> Format:  # noqa: A002 - its own word
    """The kind of a file: what is said, else what it plainly is, else what its name says.

    Raises:
        UnreadableDocument: files of this kind are not read.
    """
    seen = plain_format(data) if format is None else None
    return seen or _reader(name, format).format


def plain_format(data: bytes) -> ConvertedFormat | None:
    """What a file plainly is by how it begins, whatever its name says; None where that does not tell."""
    if data.startswith(_PDF):
        return "pdf"
    return "image" if is_image(data) else None


def parse(
    text: str,
    name: str,
    format: Format | None = None,  # noqa: A002 - its own word
    scopes: Sequence[CodeScope] = (),
) -> ParsedDocument:
    """Find the structure of a text.

    Args:
        text: the text, which is kept as it is; of a file that is converted, what it became.
        name: the file's name or path; its suffix tells the format; its stem is the title if nothing else is.
        format: the format, when the name does not tell it.
        scopes: of a program, where its functions and classes begin, if that is known.

    Raises:
        UnreadableDocument: files of this kind are not read, or the text is none (see `check_text`).
        InvalidInput: the text is no valid Unicode.
    """
    reader = _reader(name, format)
    check_text(text)
    front = reader.front(text)
    body = 0 if is_blank(text, front.end, len(text)) else front.end
    if scopes:
        blocks = tuple(markdown.program_blocks(text, scopes))
    else:
        blocks = tuple(markdown.blocks(text, body) if body else reader.blocks(text))
    title = plain_title(front.title) or reader.own_title(text) or _first_heading(blocks) or _stem(name)
    notes = (*front.notes, *_notes(text))
    return ParsedDocument(text, title, reader.format, blocks, notes, body, front.metadata)


def _reader(name: str, format: Format | None) -> _Reader:  # noqa: A002 - its own word
    suffix = PurePath(name).suffix.lower()
    for reader in _READERS:
        if suffix in reader.suffixes and format in {None, reader.format}:
            return reader
    if format is None and suffix in UNREAD_PICTURES:
        raise UnreadableDocument(f"{suffix} pictures are not read: {EXPORT}")
    if format is None and suffix in NOT_READ:
        raise UnreadableDocument(f"{suffix} files are not read in this version. {READS}")
    return next(reader for reader in _READERS if reader.format == (format or "text"))


def _first_heading(blocks: Iterable[Block]) -> str:
    highest = (block.title for block in blocks if block.kind == "heading" and block.level == 1)
    return next(filter(None, highest), "")


def _stem(name: str) -> str:
    path = PurePath(name)
    stem = path.stem if path.suffix.lower() in SUFFIXES else path.name
    return plain_title("".join(character for character in stem if character.isprintable()))


def _notes(text: str) -> tuple[str, ...]:
    hidden = 0 if text.isascii() else sum(1 for _ in _HIDDEN.finditer(text))
    return (
        (f"has {hidden} hidden characters (zero-width, or turning the direction of writing)",)
        if hidden
        else ()
    )
