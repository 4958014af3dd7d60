"""Conversion of files in a few separate processes, which kg reuses and ends when idle."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import numpy as np
import structlog

from kg_api.convert.isolated.child import (
    ANSWERS,
    OUT_OF_MEMORY,
    READY,
    REQUESTS,
    Answer,
    Request,
    receive,
    send,
)
from kg_api.convert.shared.ocr import compute_fingerprint, find_missing_reason
from kg_api.errors import TooBusy, UnreadableDocument
from kg_api.providers.embedding_port import Pixels, Rendering
from kg_api.providers.pixels import CHANNELS, fits
from kg_api.schemas.documents import Converted
from kg_api.schemas.formats import ConvertedFormat, OcrMode
from kg_api.schemas.images import DrawnPage, PageToDraw, ReadImage, RenderedImage
from kg_api.settings import ConversionSettings
from kg_api.wording import name_pages, was

log = structlog.get_logger()

IDLE_SECONDS = 60.0
START_SECONDS = 60.0
"""Time limit for imports (up to some seconds on a busy machine), separate from the time limit of a file."""
MAX_FILES = 200  # then kg replaces the process, to limit memory leaks of libraries
PAGE_SECONDS = 20.0  # short, because a user waits for the page
OUTPUT_PER_INPUT = 50
MIN_OUTPUT = 16 * 1024 * 1024  # size limit of a response in bytes (or OUTPUT_PER_INPUT times the input)
MAX_SIDE = 1536  # pixels, so that a rendered image fits into a response
WAITING_EACH = 4  # waiting files per process, because each one blocks a thread that a search may need
_KEPT = (*("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH"),)
"""Environment variables for converters, without keys and passwords."""

_Kind = TypeVar("_Kind")


class ConverterDied(Exception):
    """Error when a converter process ends without a response, with a reason for the user."""

    def __init__(self, reason: str, *, again: bool, late: bool) -> None:
        """`again`: a retry in a new process may succeed. `late`: the time limit caused the end."""
        super().__init__(reason)
        self.again, self.late = again, late


@dataclass(slots=True)
class SpentBudget:
    """Time that the requests for one file have used of its limit, without the wait for a process."""

    seconds: float = 0


class ConverterProcess:
    """Process in its own session, with limited memory and without network access. Not thread-safe."""

    def __init__(self, settings: ConversionSettings, module: str = "kg_api.convert.isolated.child") -> None:
        self._settings = settings
        self._is_ready = False
        self._files = 0
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        paths = filter(None, [str(Path(__file__).parents[3]), kept.get("PYTHONPATH")])
        kept["PYTHONPATH"] = os.pathsep.join(paths)
        arguments = [str(settings.max_memory_mb * 1024 * 1024), str(IDLE_SECONDS), str(os.getpid())]
        self._process = subprocess.Popen(
            [sys.executable, "-B", "-m", module, *arguments, settings.model_dump_json()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=kept,
            start_new_session=True,  # only the service handles Ctrl-C
        )
        self._requests = cast("BinaryIO", self._process.stdin)
        self._answers = cast("BinaryIO", self._process.stdout)

    @property
    def is_usable(self) -> bool:
        return self._process.poll() is None and self._files < MAX_FILES

    def ask(self, request: Request, parts: Sequence[bytes], spent: SpentBudget | None = None) -> Answer:
        """Return the result for a file, or the reason for its failure."""
        spent = spent or SpentBudget()
        self._files += 1
        seconds = self._settings.max_seconds
        if request.do == "page":
            seconds = min(seconds, PAGE_SECONDS)
        if request.do.startswith("ocr"):  # OCR checks its own limit only between pages
            seconds += self._settings.ocr_max_seconds
        late = threading.Event()
        begun = time.monotonic()
        try:
            if not self._is_ready:
                with self._limit_seconds(START_SECONDS, threading.Event()):
                    self._is_ready = receive(self._answers, len(READY)) == READY  # False after a crash
                begun = time.monotonic()
            with self._limit_seconds(seconds - spent.seconds, late):
                send(self._requests, REQUESTS.dump_json(request))
                send(self._requests, *parts)
                most = max(MIN_OUTPUT, OUTPUT_PER_INPUT * sum(map(len, parts)))
                if (answer := receive(self._answers, most)) is None:
                    raise OSError("the process has exited")  # noqa: TRY301 - handled like a write error
                return ANSWERS.validate_json(answer)
        except (OSError, ValueError) as error:
            self.end()
            again = self._files > 1 and not late.is_set()
            reason = self._describe_death(request, seconds if late.is_set() else None, error)
            raise ConverterDied(reason, again=again, late=late.is_set()) from error
        finally:
            spent.seconds += time.monotonic() - begun

    @contextlib.contextmanager
    def _limit_seconds(self, seconds: float, late: threading.Event) -> Generator[None]:
        """Kill the process if the block exceeds a time limit, and set `late`."""

        def end_late() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(max(0, seconds), end_late)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def end(self) -> None:
        self._process.kill()
        for pipe in (self._requests, self._answers):
            with contextlib.suppress(OSError):
                pipe.close()
        self._process.wait()

    def _describe_death(self, request: Request, late: float | None, error: Exception) -> str:
        of_page = request.do == "page"
        took, then = ("drawing the page", "") if of_page else ("reading the file", ". Split the file")
        if late is not None:
            setting = "" if of_page else " (KG_CONVERSION__MAX_SECONDS)"
            return f"{took} took more than {late:.0f} s{setting}{then}"
        limit = f"more than {self._settings.max_memory_mb} MB (KG_CONVERSION__MAX_MEMORY_MB)"
        if self._process.returncode == OUT_OF_MEMORY:
            return f"{took} took {limit}{then}"
        if isinstance(error, ValueError):  # the response was too long or invalid
            return (
                "the file expands to far more text than it has bytes, like an attempt to fill a disk. "
                "Split the file"
            )
        # C libraries crash when out of memory, so a crash and a lack of memory look the same.
        remedy = "save the file again or in another format, split it, or raise the limit"
        return f"the parser crashed or needed {limit}. To fix this, {remedy}"


class _Queue:
    """Limit of concurrent and waiting requests: one active and four waiting for each process."""

    def __init__(self, places: int) -> None:
        self._room = threading.BoundedSemaphore(places)
        self._line = threading.BoundedSemaphore(places * (1 + WAITING_EACH))

    @contextlib.contextmanager
    def place(self) -> Generator[None]:
        if not self._line.acquire(blocking=False):
            raise TooBusy("too many files are being converted. Try again in a few seconds")
        try:
            with self._room:
                yield
        finally:
            self._line.release()


class ConverterPool:
    """Pool of converter processes. Thread-safe. The first file starts a process.

    Each method waits for a free process. It raises TooBusy if too many requests wait already. It raises
    UnreadableDocument, with a remedy, if the file is broken, protected, too expensive, or empty.
    """

    def __init__(
        self,
        settings: ConversionSettings,
        start: Callable[[ConversionSettings], ConverterProcess] | None = None,
    ) -> None:
        self._settings = settings
        self._start = partial(start or ConverterProcess, settings)
        self._queue = _Queue(settings.processes)
        self._ocr = _Queue(max(1, settings.processes - 1))
        """Limit for OCR, which can take minutes. One process stays free for other files."""
        self._lock = threading.Lock()
        self._idle: list[ConverterProcess] = []
        self._closed = False

    def convert(self, data: bytes, form: ConvertedFormat, ocr: OcrMode = "auto") -> Converted:
        if form == "pdf" and ocr == "always":
            if reason := find_missing_reason(self._settings):
                raise UnreadableDocument(f"OCR could not read every page, as `ocr` requires: {reason}")
            with self._ocr.place():
                return add_skipped_images_note(self._answer(Converted, Request("ocr-all"), data), "")
        spent = SpentBudget()
        made = self._answer(Converted, Request("convert", form), data, spent=spent)
        if form == "image":
            _require_one_image(made)
            return made if ocr == "never" else self._add_words(made, data, spent)
        if not (made.pictures or made.unreadable):
            return made
        reason = find_missing_reason(self._settings)
        if ocr == "never" or reason:
            return add_skipped_images_note(
                made, "OCR was not wanted (ocr: never)" if ocr == "never" else reason
            )
        try:  # a separate request, so that a failure or timeout of OCR does not affect the other pages
            with self._ocr.place():
                read = self._answer(Converted, Request("ocr"), data, spent=spent)
        except UnreadableDocument as error:
            return add_skipped_images_note(made, f"OCR failed: {error}")
        return add_skipped_images_note(read, "")

    def _add_words(self, made: Converted, data: bytes, spent: SpentBudget) -> Converted:
        """Append the text from OCR to the text of an image."""
        if find_missing_reason(self._settings):
            return made
        try:
            read = self._answer(Converted, Request("ocr-image"), data, spent=spent)
        except UnreadableDocument as error:
            return replace(made, notes=(*made.notes, f"OCR failed: {error}"))
        text = "\n".join(filter(None, (made.text, read.text)))
        images = tuple(replace(each, end=len(text)) for each in made.images)
        return replace(made, text=text, images=images, notes=(*made.notes, *read.notes))

    def read_image(self, data: bytes) -> ReadImage:
        """Read an image without OCR."""
        made = self._answer(Converted, Request("convert", "image"), data)
        _require_one_image(made)
        return made.images[0].image

    def get_ocr_fingerprint(self) -> str:
        """Get the fingerprint of the current OCR engine and its limits."""
        return compute_fingerprint(self._settings)

    def render(self, data: bytes, rendering: Rendering) -> Pixels:
        sides = (rendering.width, rendering.height)
        if min(sides) < 1 or max(sides) > MAX_SIDE:
            raise ValueError(f"images are rendered with sides of 1 to {MAX_SIDE} pixels, not {sides}")
        answer = self._answer(RenderedImage, Request("render", rendering=rendering), data)
        shape = (answer.height, answer.width, CHANNELS)
        # Check the size, because a hostile file may control the process.
        if not fits(shape, rendering) or len(answer.pixels) != answer.height * answer.width * CHANNELS:
            raise UnreadableDocument("the parser returned unexpected pixels. Save the file again")
        return np.frombuffer(answer.pixels, dtype=np.uint8).reshape(shape)

    def draw_page(self, read: Callable[[], bytes], wanted: PageToDraw) -> DrawnPage:
        with self._queue.place():
            return _require(DrawnPage, self._ask(Request("page", page=wanted), (read(),), SpentBudget()))

    def close(self) -> None:
        """End idle processes now, and busy ones after their file."""
        with self._lock:
            self._closed, idle = True, self._idle
            self._idle = []
        for process in idle:
            process.end()

    def _answer(
        self, kind: type[_Kind], request: Request, *parts: bytes, spent: SpentBudget | None = None
    ) -> _Kind:
        with self._queue.place():
            return _require(kind, self._ask(request, parts, spent or SpentBudget()))

    def _ask(self, request: Request, parts: Sequence[bytes], spent: SpentBudget) -> Answer:
        try:
            try:
                return self._ask_once(request, parts, spent)
            except ConverterDied as died:
                if not died.again:
                    raise
                # Earlier files may have caused the crash
                return self._ask_once(request, parts, spent, fresh=True)
        except ConverterDied as died:
            reason = str(died)
            log.warning("a converter died", form=request.form or request.do, reason=reason)
            of_pdf = (request.do, request.form) == ("convert", "pdf")
            if died.late or not (of_pdf and self._settings.images_within):
                return reason
        try:  # retry without images, because PDFium renders them without limits
            made = self._ask_once(replace(request, do="words"), parts, spent, fresh=True)
        except ConverterDied:
            return reason
        if not isinstance(made, Converted):
            return made
        return replace(made, notes=(*made.notes, f"skipped: the images, because with them {reason}"))

    def _ask_once(
        self, request: Request, parts: Sequence[bytes], spent: SpentBudget, *, fresh: bool = False
    ) -> Answer:
        process: ConverterProcess | None = None
        while process is None and not fresh:
            with self._lock:
                if not self._idle:
                    break
                process = self._idle.pop()
            if not process.is_usable:
                process.end()
                process = None
        process = process or self._start()
        try:
            answer = process.ask(request, parts, spent)
        except BaseException:
            process.end()  # its answer could otherwise be read as that of the next file
            raise
        with self._lock:
            is_kept = process.is_usable and not self._closed
            if is_kept:
                self._idle.append(process)
        if not is_kept:
            process.end()
        return answer


def _require(kind: type[_Kind], answer: Answer) -> _Kind:
    if isinstance(answer, str):
        raise UnreadableDocument(answer)
    if not isinstance(answer, kind):
        raise UnreadableDocument("the parser returned an unexpected response. Save the file again")
    return answer


def _require_one_image(made: Converted) -> None:
    if len(made.images) != 1:
        raise UnreadableDocument("the parser returned an unexpected response. Save the file again")


def add_skipped_images_note(made: Converted, reason: str) -> Converted:
    if made.text.strip():
        return replace(made, notes=(*made.notes, *_describe_skipped_images(made, reason)))
    description = reason or "; ".join(made.notes)
    if made.unreadable:
        raise UnreadableDocument(
            f"the fonts of the PDF do not map to letters, and OCR was not used: {description}. You can also "
            "run another OCR on the file (for example ocrmypdf --force-ocr) and ingest the result"
        )
    raise UnreadableDocument(
        f"the PDF has no text and seems to be scanned, but OCR was not used: {description}. You can also run "
        "another OCR on the file (for example ocrmypdf) and ingest the result"
    )


def _describe_skipped_images(made: Converted, reason: str) -> Iterator[str]:
    pictures = [number for number in made.pictures if number not in made.unreadable]
    if pictures:
        several = len(pictures) > 1
        has, scanned = ("have", "scanned images") if several else ("has", "a scanned image")
        found = "they are not searchable" if several else "not searchable"
        note = f"{name_pages(pictures)} {has} no text ({scanned}?): {found}"
        yield f"{note}. {reason}" if reason else note
    if made.unreadable and reason:
        yield f"{name_pages(made.unreadable)} {was(len(made.unreadable))} not read by OCR: {reason}"
