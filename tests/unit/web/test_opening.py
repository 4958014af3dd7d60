import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from kg_api.errors import Unavailable
from kg_api.local.processes import find_free_port, open_listener
from kg_api.settings import Settings, load_settings
from kg_api.web import serve
from kg_api.web.shared import opening
from kg_api.web.shared.opening import StartUp


@dataclass
class RecordedContainer:
    """Container that records its calls. `search` is itself."""

    calls: list[str] = field(default_factory=list[str])
    fault: Exception | None = None
    until_ending: bool = False
    warming: threading.Event = field(default_factory=threading.Event)

    @property
    def search(self) -> Self:
        return self

    def warm_up(self, is_ending: Callable[[], bool]) -> None:
        self.warming.set()
        if self.fault is not None:
            raise self.fault
        while self.until_ending and not is_ending():
            time.sleep(0.001)
        self.calls.append("warm up")

    def close(self) -> None:
        self.calls.append("close")


@pytest.fixture
def container(monkeypatch: pytest.MonkeyPatch) -> RecordedContainer:
    recorded = RecordedContainer()
    monkeypatch.setattr(opening, "open_container", lambda *_, **__: recorded)
    monkeypatch.setattr(opening, "freeze_heap", lambda: None)
    return recorded


def start_up() -> StartUp:
    return StartUp(load_settings(), lambda error: pytest.fail(str(error)))


def test_each_process_warms_up(
    container: RecordedContainer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def build_server(_: Settings, app: FastAPI) -> Any:
        def run(sockets: object) -> None:
            del sockets
            app.state.opening.start()
            app.state.opening.wait()
            app.state.opening.close()

        return SimpleNamespace(run=run)

    monkeypatch.setattr(serve, "_build_server", build_server)
    monkeypatch.setattr(serve, "configure_logs", lambda _: None)
    settings = load_settings(home=tmp_path, api={"port": find_free_port()})
    serve.serve(settings)
    assert container.calls == ["warm up", "close"]
    with open_listener("127.0.0.1", 0) as listening:
        serve.serve_when_ready(settings, listening)
    assert container.calls == 2 * ["warm up", "close"]


def test_warm_up_ends_before_the_container_closes(container: RecordedContainer) -> None:
    container.until_ending = True
    starting = start_up()
    starting.start()
    assert container.warming.wait(60)
    assert starting.container() is container, "requests are answered"
    assert starting.waiting_for() == "the first searches, which take longer"
    starting.close()
    assert container.calls == ["warm up", "close"]
    assert starting.waiting_for() is None


def test_failed_warm_up_is_logged(container: RecordedContainer) -> None:
    container.fault = Unavailable("no index yet")
    starting = start_up()
    with capture_logs() as logs:
        starting.start()
        starting.wait()
    assert starting.waiting_for() is None
    assert [each["reason"] for each in logs if each["log_level"] == "warning"] == ["no index yet"]


def test_bug_in_warm_up_surfaces(container: RecordedContainer, monkeypatch: pytest.MonkeyPatch) -> None:
    container.fault = RuntimeError("a bug")
    raised = list[BaseException | None]()
    monkeypatch.setattr(threading, "excepthook", lambda given: raised.append(given.exc_value))
    starting = start_up()
    starting.start()
    starting.wait()
    assert raised == [container.fault]
    assert starting.waiting_for() is None, "the service answers"
