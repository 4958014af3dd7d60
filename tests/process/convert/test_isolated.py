import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest

from kg_api.convert.isolated import pool as pool_module
from kg_api.convert.isolated.child import Request
from kg_api.convert.isolated.pool import ConverterPool, ConverterProcess
from kg_api.errors import TooBusy, UnreadableDocument
from kg_api.providers.embedding_port import Rendering
from kg_api.schemas.images import PageToDraw
from kg_api.settings import ConversionSettings
from tests.support.hostile_files import pdf_of_pages
from tests.support.images import drawn, encoded, exif

SETTINGS = ConversionSettings(processes=1, max_seconds=2, max_memory_mb=1024)
CRASHED = (
    "the parser crashed or needed more than 1024 MB (KG_CONVERSION__MAX_MEMORY_MB). "
    "To fix this, save the file again or in another format, split it, or raise the limit"
)
WAITING = 2
"""Number of requests that can wait for a process."""
HOSTILE = partial(ConverterProcess, module="tests.support.hostile_child")


@pytest.fixture
def pool() -> Iterator[ConverterPool]:
    made = ConverterPool(SETTINGS, HOSTILE)
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[ConverterPool]:
    """Return a pool to use in tests that do not need their own process."""
    made = ConverterPool(SETTINGS, HOSTILE)
    yield made
    made.close()


def pid_of(pool: ConverterPool) -> int:
    return int(pool.convert(b"fine", "html").text.partition(":")[2])


def test_a_process_converts_one_file_after_the_other(pool: ConverterPool) -> None:
    made = pool.convert(b"fine", "html")
    assert made.text.startswith("html:")
    assert (made.pages, made.metadata) == ((0,), {"tags": ["a", "b"]})
    assert pid_of(pool) == pid_of(pool)
    pid = pid_of(pool)
    pool.close()
    assert not psutil.pid_exists(pid)


FAILURES = {
    "crash": re.escape(CRASHED),
    "memory": "KG_CONVERSION__MAX_MEMORY_MB",
    "flood": "far more text",
    "bug": "RecursionError",
    "run": "PermissionError",
}


@pytest.mark.parametrize(
    ("seconds", "failures"),
    [(30, FAILURES), (2, {"loop": "KG_CONVERSION__MAX_SECONDS"})],
    ids=["all", "loop"],
)
def test_parser_failure_affects_one_file(seconds: int, failures: dict[str, str]) -> None:
    pool = ConverterPool(SETTINGS.model_copy(update={"max_seconds": seconds}), HOSTILE)
    for file, told in failures.items():
        pid = pid_of(pool)
        with pytest.raises(UnreadableDocument, match=told):
            pool.convert(file.encode(), "pdf")
        assert pool.convert(b"fine", "pdf").text, file
        assert file in {"bug", "run"} or not psutil.pid_exists(pid), file
    pool.close()


def test_pdf_is_read_without_excessive_images(shared: ConverterPool) -> None:
    made = shared.convert(b"pictures", "pdf")
    assert made.text.startswith("pdf:")
    assert made.notes == (f"skipped: the images, because with them {CRASHED}",)
    with pytest.raises(UnreadableDocument, match="crashed"):
        shared.convert(b"pictures", "html")


def test_a_parser_reaches_no_network(shared: ConverterPool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with pytest.raises(UnreadableDocument, match=r"PermissionError|OSError"):
            shared.convert(f"connect:{server.getsockname()[1]}".encode(), "html")
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_parser_writes_no_file(shared: ConverterPool, tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match="PermissionError"):
        shared.convert(f"write:{tmp_path / 'taken'}".encode(), "html")
    assert not list(tmp_path.iterdir())


def test_a_parser_sees_no_secret(pool: ConverterPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("KG_NEO4J__PASSWORD", "canary")
    names = pool.convert(b"environment", "html").text
    assert "PATH" in names
    assert "OPENAI" not in names
    assert "KG_" not in names


def test_requests_beyond_the_queue_are_rejected_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "WAITING_EACH", WAITING)
    pool = ConverterPool(SETTINGS.model_copy(update={"max_seconds": 1}), HOSTILE)
    outcomes: list[str] = []

    def ask(_: int) -> None:
        try:
            pool.convert(b"loop", "html")
        except (TooBusy, UnreadableDocument) as error:
            outcomes.append(type(error).__name__)
            if isinstance(error, TooBusy):
                until.set()

    until = threading.Event()
    try:
        with ThreadPoolExecutor(12) as threads:
            asked = [threads.submit(ask, number) for number in range(1 + WAITING + 2)]
            assert until.wait(10)
            for each in asked:
                each.result()
    finally:
        pool.close()
    assert outcomes.count("TooBusy") == 2
    assert outcomes.count("UnreadableDocument") == 1 + WAITING


def test_image_work_leaves_a_process_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "find_missing_reason", lambda _: "")
    pool = ConverterPool(SETTINGS.model_copy(update={"processes": 2}), HOSTILE)
    try:
        with ThreadPoolExecutor(4) as threads:
            scans = [threads.submit(pool.convert, b"scan:2.5", "pdf") for _ in range(2)]
            time.sleep(1)  # one is at its pictures, the other waits for that
            assert pool.convert(b"fine", "html").text.startswith("html:")
            assert not all(each.done() for each in scans), "the file did not wait for both"
            assert [each.result().text for each in scans] == ["OCR"] * 2
    finally:
        pool.close()


def test_converter_process_ends_with_its_parent() -> None:
    """The parent process is killed during a conversion."""
    pool_pid = os.fork()
    if pool_pid == 0:  # pragma: no cover - another process
        process = HOSTILE(SETTINGS.model_copy(update={"max_seconds": 600}))
        process.ask(Request("convert", "html"), (b"loop",))
        os._exit(0)
    children: list[psutil.Process] = []
    until = time.monotonic() + 10
    while not children and time.monotonic() < until:
        time.sleep(0.05)
        children = psutil.Process(pool_pid).children()
    os.kill(pool_pid, 9)
    os.waitpid(pool_pid, 0)
    _, left = psutil.wait_procs(children, timeout=10)
    assert children
    assert not left


def test_page_is_rendered_within_its_own_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ConverterPool(SETTINGS)
    drawn = made.draw_page(lambda: pdf_of_pages(2), PageToDraw(2, 200, "Some words of a page"))
    assert (drawn.pages, drawn.boxed, drawn.content[:4]) == (2, 5, b"\x89PNG")
    with pytest.raises(UnreadableDocument, match="not a PDF"):
        made.draw_page(lambda: b"nothing", PageToDraw(1, 200))
    made.close()
    monkeypatch.setattr(pool_module, "PAGE_SECONDS", 0.001)
    slow = ConverterPool(SETTINGS)
    with pytest.raises(UnreadableDocument, match="drawing the page took more than"):
        slow.draw_page(lambda: pdf_of_pages(2), PageToDraw(1, 200))
    slow.close()


def test_response_without_requested_image_is_rejected(shared: ConverterPool) -> None:
    with pytest.raises(UnreadableDocument, match="an unexpected response"):
        shared.read_image(b"fine")
    with pytest.raises(UnreadableDocument, match="an unexpected response"):
        shared.convert(b"fine", "image")


SIZE = Rendering(64, 48, "stretch")


def test_image_pixels_are_returned() -> None:
    pool, picture = ConverterPool(SETTINGS), drawn(64, 48)
    assert np.array_equal(pool.render(encoded(picture), SIZE), np.asarray(picture))
    lying = encoded(drawn(640, 480), "JPEG", exif=exif({0x0112: 6}))
    assert pool.render(lying, Rendering(64, 64, "within")).shape == (64, 48, 3)
    pool.close()


@pytest.mark.parametrize("given", ["48x64:9216", "64x48:9215", "64x48:0", "1x1:3", "0x0:0", "text"])
def test_compromised_process_can_return_only_pixels(shared: ConverterPool, given: str) -> None:
    assert shared.render(b"pixels:64x48:9216", SIZE).shape == (48, 64, 3)
    with pytest.raises(UnreadableDocument, match=r"unexpected pixels|unexpected response|crashed|far more"):
        shared.render(f"pixels:{given}".encode(), SIZE)
