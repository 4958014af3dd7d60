"""What is made of a service's answers, or of none."""

from __future__ import annotations

import socket

from kg_api.managed import ports, probes


def test_a_service_that_hangs_is_slow_and_not_away() -> None:
    with socket.create_server((ports.LOOPBACK, 0)) as silent:
        answer = probes.ask_ready(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)
    assert (answer.reached, answer.slow) == (False, True)
    assert "did not answer within 0.2 s" in (answer.waiting_for or "")


def test_a_service_that_is_away_is_not_slow() -> None:
    answer = probes.ask_ready(f"http://127.0.0.1:{ports.free_port()}", timeout=1)
    assert (answer.reached, answer.slow) == (False, False)
