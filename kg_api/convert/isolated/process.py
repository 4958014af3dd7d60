"""One process that converts files, seen from outside: it is asked, waited for, and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from pydantic import ValidationError

from kg_api.convert.isolated.child import OUT_OF_MEMORY
from kg_api.convert.isolated.messages import (
    ANSWERS,
    OCR,
    OCR_ALL,
    OCR_IMAGE,
    PAGE,
    READY,
    Answer,
    Content,
    receive,
    send,
)
from kg_api.settings import ConversionSettings

IDLE_SECONDS = 60.0
START_SECONDS = 60.0
"""Its imports take part of a second, or some seconds on a busy machine: that is not the file's time."""
MAX_FILES = 200
"""Then it is replaced: a library that leaks does so in a process that ends."""
PAGE_SECONDS = 20.0
"""Somebody waits for a page."""
OUTPUT_PER_INPUT = 50
MIN_OUTPUT = 16 * 1024 * 1024
"""Bytes that an answer may have: so many, or so many times the file."""
_KEPT = (
    "TESSDATA_PREFIX",
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "SYSTEMROOT",
    "LD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    "PYTHONPATH",
)
"""Of the environment: keys and passwords are none of its business."""


class ConverterDied(Exception):
    """It ended without an answer, or was ended; the reason is meant for people."""

    def __init__(self, reason: str, *, again: bool, late: bool = False) -> None:
        """Store the reason and what may help.

        Args:
            reason: why.
            again: whether another process may do better, as this one had read other files before.
            late: whether its time was up.
        """
        super().__init__(reason)
        self.again, self.late = again, late


@dataclass(slots=True)
class Spent:
    """What the requests for one file have taken of its time limit; waiting for a process is not counted."""

    seconds: float = 0


class ConverterProcess:
    """A process of its own session, with little memory and no network. Not thread-safe."""

    def __init__(self, settings: ConversionSettings, module: str = "kg_api.convert.isolated.child") -> None:
        """Start it.

        Args:
            settings: its bounds.
            module: what it runs.
        """
        self._settings = settings
        self._ending = threading.Lock()
        self._is_ready = False
        self.files = 0
        """How many it was given."""
        given = [str(settings.max_memory_mb * 1024 * 1024), str(IDLE_SECONDS), str(os.getpid())]
        given.append(settings.model_dump_json())
        self._process = subprocess.Popen(
            [sys.executable, "-B", "-m", module, *given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is for the service
        )
        self._answers = cast("BinaryIO", self._process.stdout)

    @property
    def is_usable(self) -> bool:
        """Whether it can be given another file."""
        return self._process.poll() is None and self.files < MAX_FILES

    def ask(self, data: Content, form: str, spent: Spent | None = None) -> Answer:
        """What a file became, or why it did not.

        Args:
            data: the file.
            form: what is asked for.
            spent: time that earlier requests for the same file took; what this one takes is added.

        Raises:
            ConverterDied: saying why.
        """
        spent = spent or Spent()
        self.files += 1
        seconds = self._settings.max_seconds
        if form == PAGE:
            seconds = min(seconds, PAGE_SECONDS)
        if form.startswith((OCR, OCR_ALL, OCR_IMAGE)):  # it keeps to its own limit, but for the page it is at
            seconds += self._settings.ocr_max_seconds
        late = threading.Event()
        begun = time.monotonic()
        try:
            if not self._is_ready:
                with self._ended_after(START_SECONDS, threading.Event()):
                    self._is_ready = receive(self._answers, len(READY)) == READY  # if not, it has ended
                begun = time.monotonic()
            with self._ended_after(seconds - spent.seconds, late):
                return self._ask(data, form)
        except (OSError, ValueError) as error:
            self.end()
            again = self.files > 1 and not late.is_set()
            reason = self._reason(form, seconds if late.is_set() else None, error)
            raise ConverterDied(reason, again=again, late=late.is_set()) from error
        finally:
            spent.seconds += time.monotonic() - begun

    @contextlib.contextmanager
    def _ended_after(self, seconds: float, late: threading.Event) -> Generator[None]:
        """End the process if a block takes longer, and set `late`."""
        timer = threading.Timer(max(0, seconds), self._end_late, [late])
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def end(self) -> None:
        with self._ending:
            self._kill()
            for pipe in (cast("BinaryIO", self._process.stdin), self._answers):
                with contextlib.suppress(OSError):
                    pipe.close()
            self._process.wait()

    def _ask(self, data: Content, form: str) -> Answer:
        requests = cast("BinaryIO", self._process.stdin)
        send(requests, form.encode())
        parts = (data,) if isinstance(data, bytes) else data
        send(requests, *parts)
        answer = receive(self._answers, max(MIN_OUTPUT, OUTPUT_PER_INPUT * sum(map(len, parts))))
        if answer is None:
            raise OSError("it has ended")
        try:
            return ANSWERS.validate_json(answer)
        except ValidationError as error:
            raise ValueError("no answer of a converter") from error

    def _end_late(self, late: threading.Event) -> None:
        late.set()
        with self._ending:
            self._kill()

    def _kill(self) -> None:
        """With a program that it may run: both are of a session of their own.

        The program is ended also where the process has died by itself; not once that was waited for, when
        its number may be another's.
        """
        if self._process.returncode is not None:
            return
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()

    def _reason(self, form: str, late: float | None, error: Exception) -> str:
        took, then = ("drawing the page", "") if form == PAGE else ("reading it", "; divide it")
        if late is not None:
            setting = "" if form == PAGE else " (KG_CONVERSION__MAX_SECONDS)"
            return f"{took} took more than {late:.0f} s{setting}{then}"
        limit = self._settings.max_memory_mb
        if self._process.returncode == OUT_OF_MEMORY:
            return f"{took} took more than {limit} MB (KG_CONVERSION__MAX_MEMORY_MB){then}"
        if isinstance(error, ValueError):
            return "it becomes far more text than it has bytes; it may be made to fill a disk"
        # A library in C crashes where Python raises MemoryError, and nothing tells the two apart.
        remedy = "save it again or in another format, divide it, or raise the limit"
        return f"its parser crashed, or wanted more than {limit} MB (KG_CONVERSION__MAX_MEMORY_MB); {remedy}"


def _environment() -> dict[str, str]:
    """Where Python finds kg and tesseract its languages, and little else."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    package = str(Path(__file__).parents[3])
    kept["OMP_THREAD_LIMIT"] = "1"  # threads of its own make tesseract slower
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, [package, kept.get("PYTHONPATH")]))}
