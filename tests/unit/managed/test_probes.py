from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kg_api.local import processes
from kg_api.local.processes import Home


def test_hanging_service_is_slow_but_present() -> None:
    with socket.create_server((processes.LOOPBACK, 0)) as silent:
        answer = processes.ask_ready(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)
    assert (answer.reached, answer.slow) == (False, True)
    assert "did not respond within 0.2 s" in (answer.waiting_for or "")


def test_a_service_that_is_away_is_not_slow() -> None:
    answer = processes.ask_ready(f"http://127.0.0.1:{processes.find_free_port()}", timeout=1)
    assert (answer.reached, answer.slow) == (False, False)


@pytest.mark.parametrize(
    ("holder", "told"),
    [("other", "where the kg of the home"), (None, "where another process answers instead")],
)
def test_service_without_proof_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holder: str | None, told: str
) -> None:
    home = Home(tmp_path / "own").create()
    monkeypatch.setattr(
        processes, "holder", lambda _: f"the kg of the home {holder}" if holder else "another process"
    )
    monkeypatch.setattr(processes, "exchange", _answer_without_proof)
    answer = processes.ask_ready("http://127.0.0.1:8420", home=home)
    assert not answer.reached
    assert told in (answer.waiting_for or "")


def _answer_without_proof(url: str, *_: object, **__: object) -> tuple[int, bytes]:
    raise processes.OtherHomeError(url)
