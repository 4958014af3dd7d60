"""What is told of pages that are pictures and were not read, and of pictures that were."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Literal, cast

import structlog

from kg_api.convert.isolated.messages import (
    BESIDE,
    OCR,
    OCR_ALL,
    OCR_IMAGE,
    PAGE,
    PROGRAM,
    RENDER,
    WORDS_ALONE,
    Answer,
    Content,
    checked_pixels,
    pack,
    with_page,
    write_rendering,
)
from kg_api.convert.isolated.process import ConverterDied, ConverterProcess, Spent
from kg_api.convert.shared.ocr import choose, fingerprint
from kg_api.errors import TooBusy, UnreadableDocument
from kg_api.providers.embedding_port import Pixels, Rendering
from kg_api.schemas.documents import CodeScope, Converted
from kg_api.schemas.formats import ConvertedFormat, OcrMode
from kg_api.schemas.images import DrawnPage, PageToDraw, ReadImage, RenderedImage
from kg_api.settings import ConversionSettings
from kg_api.wording import name_pages, was


def note_pictures(made: Converted, reason: str) -> Converted:
    """Add notes on pages without text, and with text that cannot be read.

    Args:
        made: what the file became.
        reason: why they were not read; empty: its notes say that.

    Raises:
        UnreadableDocument: no page has text.
    """
    if not made.text.strip():
        told = reason or "; ".join(made.notes)
        if made.unreadable:
            raise UnreadableDocument(
                "the fonts of the PDF do not say which letters its text is, and it was not read by OCR: "
                f"{told}; or run another OCR over it (ocrmypdf --force-ocr, for example), and add that file"
            )
        raise UnreadableDocument(
            f"the PDF has no text, it seems to be scanned, and it was not read by OCR: {told}; "
            "or run another OCR over it (ocrmypdf, for example), and add that file"
        )
    return replace(made, notes=(*made.notes, *_list_notes(made, reason)))


def _list_notes(made: Converted, reason: str) -> Iterator[str]:
    pictures = [number for number in made.pictures if number not in made.unreadable]
    if pictures:
        several = len(pictures) > 1
        has, scanned = ("have", "scanned pictures") if several else ("has", "a scanned picture")
        found = "they are not found" if several else "it is not found"
        told = f"{name_pages(pictures)} {has} no text ({scanned}?): {found}"
        yield f"{told}; {reason}" if reason else told
    if made.unreadable and reason:
        yield f"{name_pages(made.unreadable)} {was(len(made.unreadable))} not read by OCR: {reason}"


def with_words(made: Converted, read: Converted) -> Converted:
    """A picture that is a document of its own, with the words that OCR read on it.

    Args:
        made: what it says of itself; it is one picture.
        read: what OCR read.
    """
    text = "\n".join(filter(None, (made.text, read.text)))
    images = tuple(replace(each, end=len(text)) for each in made.images)
    return replace(made, text=text, images=images, notes=(*made.notes, *read.notes))


# Files are converted in a few processes apart, which are used again and ended when they are idle.

log = structlog.get_logger()

WAITING_EACH = 4
"""So many files may wait for each process: who waits holds a thread that a search may need."""
BUSY = "too many files are being converted; try again in a few seconds"


_NEVER = "OCR was not wanted (ocr: never)"
PDF = "pdf"
IMAGE = "image"
"""The kind of a picture that is a document of its own: it becomes one picture, no less and no more."""
_Made = Converted | RenderedImage | DrawnPage | list[CodeScope]


class _Queue:
    """So many at work, four times as many in line."""

    def __init__(self, places: int) -> None:
        self._room = threading.BoundedSemaphore(places)
        self._line = threading.BoundedSemaphore(places * (1 + WAITING_EACH))

    @contextmanager
    def place(self) -> Generator[None]:
        """Wait for a place at work.

        Raises:
            TooBusy: too many others wait already.
        """
        if not self._line.acquire(blocking=False):
            raise TooBusy(BUSY)
        try:
            with self._room:
                yield
        finally:
            self._line.release()


class ConverterPool:
    """Converts files. Thread-safe; processes are started when the first file comes."""

    def __init__(
        self,
        settings: ConversionSettings,
        start: Callable[[ConversionSettings], ConverterProcess] | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            settings: how many processes, and their bounds.
            start: starts one; None: as usual.
        """
        self._settings = settings
        self._start = partial(start or ConverterProcess, settings)
        self._queue = _Queue(settings.processes)
        self._ocr = _Queue(max(1, settings.processes - 1))
        """Of those: pictures take minutes, and leave one process to all other files."""
        self._lock = threading.Lock()
        self._idle: list[ConverterProcess] = []
        self._closed = False

    def convert(self, data: bytes, form: ConvertedFormat, ocr: OcrMode = "auto") -> Converted:
        """Make Markdown of a file; waits while as many as may are at work.

        Args:
            data: the file.
            form: its kind.
            ocr: which pages of a PDF are read by OCR, and whether a picture is.

        Raises:
            TooBusy: too many others wait already.
            UnreadableDocument: it is broken, protected, takes too much or holds no text, or there is no OCR
                for all of its pages; the message says what to do.
        """
        if form == PDF and ocr == "always":
            return self._read_all(data)
        spent = Spent()
        made = cast("Converted", self._answer(data, form, spent))
        if form == IMAGE:
            return made if ocr == "never" else self._with_words(data, made, spent)
        if not (made.pictures or made.unreadable):
            return made
        return note_pictures(made, _NEVER) if ocr == "never" else self._with_pictures(data, made, spent)

    def _read_all(self, data: bytes) -> Converted:
        engine, reason = choose(self._settings)
        if engine is None:
            raise UnreadableDocument(f"not every page can be read by OCR, as `ocr` asks: {reason}")
        with self._ocr.place():
            return note_pictures(cast("Converted", self._answer(data, f"{OCR_ALL}{engine}")), "")

    def convert_with(
        self, data: bytes, form: Literal["html", "markdown"], beside: Mapping[str, bytes]
    ) -> Converted:
        """As `convert`, of a document with the pictures that lie beside it, by their references.

        Raises:
            TooBusy, UnreadableDocument: as `convert` does.
        """
        return cast("Converted", self._answer(pack(data, beside), f"{BESIDE}{form}"))

    def _with_pictures(self, data: bytes, made: Converted, spent: Spent) -> Converted:
        """Asked for by itself: what it takes or breaks costs the other pages nothing."""
        engine, reason = choose(self._settings)
        if engine is None:
            return note_pictures(made, reason)
        try:
            with self._ocr.place():
                read = cast("Converted", self._answer(data, f"{OCR}{engine}", spent))
        except UnreadableDocument as error:
            return note_pictures(made, f"OCR ({engine}) failed: {error}")
        return note_pictures(read, "")

    def look_at(self, data: bytes) -> ReadImage:
        """See what a picture is, without reading words on it; waits as `convert` does.

        Raises:
            TooBusy, UnreadableDocument: as `convert` does.
        """
        return cast("Converted", self._answer(data, IMAGE)).images[0].image

    def pictures_read_by(self) -> str:
        """The fingerprint of the OCR that there is now, with its limits."""
        return fingerprint(self._settings)

    def _with_words(self, data: bytes, made: Converted, spent: Spent) -> Converted:
        """What a picture says of itself, and what OCR reads on it, where there is OCR."""
        engine, _ = choose(self._settings)
        if engine is None or not self._settings.ocr_images:
            return made
        try:
            return with_words(made, cast("Converted", self._answer(data, f"{OCR_IMAGE}{engine}", spent)))
        except UnreadableDocument as error:
            return replace(made, notes=(*made.notes, f"OCR ({engine}) failed: {error}"))

    def find_scopes(self, data: bytes, suffix: str) -> list[CodeScope]:
        """Find the functions and classes of a program, in UTF-8; waits as `convert` does.

        Raises:
            TooBusy, UnreadableDocument: as `convert` does.
        """
        return cast("list[CodeScope]", self._answer(data, f"{PROGRAM}{suffix}"))

    def render(self, data: bytes, rendering: Rendering) -> Pixels:
        """Unpack a picture for a model that sees; waits as `convert` does.

        Returns:
            uint8, shape (height, width, 3), not to be written to.

        Raises:
            TooBusy, UnreadableDocument: as `convert` does.
            ValueError: the rendering is larger than is given out.
        """
        answer = self._answer(data, f"{RENDER}{write_rendering(rendering)}")
        return checked_pixels(cast("RenderedImage", answer), rendering)

    def draw_page(self, read: Callable[[], bytes], wanted: PageToDraw) -> DrawnPage:
        """Draw a page of a PDF, with words marked; waits as `convert` does.

        Args:
            read: reads the file, once there is a place: who waits or is refused holds no file.
            wanted: what is to be drawn.

        Raises:
            TooBusy, UnreadableDocument: as `convert` does.
        """
        with self._queue.place():
            answer = self._ask(with_page(wanted, read()), PAGE)
        return cast("DrawnPage", _checked(answer, PAGE))

    def _answer(self, data: bytes, form: str, spent: Spent | None = None) -> _Made:
        with self._queue.place():
            answer = self._ask(data, form, spent)
        return _checked(answer, form)

    def close(self) -> None:
        """End the processes; one at work ends after its file."""
        with self._lock:
            self._closed, idle = True, self._idle
            self._idle = []
        for process in idle:
            process.end()

    def _ask(self, data: Content, form: str, spent: Spent | None = None) -> Answer:
        spent = spent or Spent()
        try:
            return self._twice(data, form, spent)
        except ConverterDied as died:
            log.warning("a converter died", format=form, reason=str(died))
            again = form == PDF and self._settings.images_within and not died.late
            return self._words_alone(data, form, str(died), spent) if again else str(died)

    def _twice(self, data: Content, form: str, spent: Spent) -> Answer:
        """A process that has read other files may die of those: then a new one is asked once more."""
        try:
            return self._once(data, form, spent)
        except ConverterDied as died:
            if not died.again:
                raise
        return self._once(data, form, spent, fresh=True)

    def _words_alone(self, data: Content, form: str, reason: str, spent: Spent) -> Answer:
        """What may have been too much are its pictures: PDFium draws them, and stops at nothing."""
        try:
            made = self._once(data, f"{WORDS_ALONE}{form}", spent, fresh=True)
        except ConverterDied:
            return reason
        if not isinstance(made, Converted):
            return made
        return replace(made, notes=(*made.notes, f"left out: its pictures, for with them {reason}"))

    def _once(self, data: Content, form: str, spent: Spent, *, fresh: bool = False) -> Answer:
        with self._process(fresh=fresh) as process:
            return process.ask(data, form, spent)

    @contextmanager
    def _process(self, *, fresh: bool) -> Generator[ConverterProcess]:
        process = self._start() if fresh else self._take()
        try:
            yield process
        except BaseException:
            process.end()
            raise
        self._give_back(process)

    def _take(self) -> ConverterProcess:
        while True:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            if process is None:
                return self._start()
            if process.is_usable:
                return process
            process.end()

    def _give_back(self, process: ConverterProcess) -> None:
        with self._lock:
            if process.is_usable and not self._closed:
                self._idle.append(process)
                return
        process.end()


def _checked(answer: Answer, form: str) -> _Made:
    if isinstance(answer, str):
        raise UnreadableDocument(answer)
    if not isinstance(answer, _kind_of_answer(form)) or (form == IMAGE and not _is_one_image(answer)):
        raise UnreadableDocument("its parser gave another answer than was asked for; save it again")
    return answer


def _is_one_image(answer: _Made) -> bool:
    return isinstance(answer, Converted) and len(answer.images) == 1


def _kind_of_answer(form: str) -> type:
    if form == PAGE:
        return DrawnPage
    if form.startswith(PROGRAM):
        return list
    return RenderedImage if form.startswith(RENDER) else Converted
