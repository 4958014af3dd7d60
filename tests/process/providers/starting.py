from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kg_api.local.processes import find_free_port
from tests.neo4j_server import Neo4jServer
from tests.support.providers import CANARY
from tests.support.running import environment, start

REFUSED = 78
SECONDS = 60


@dataclass(frozen=True)
class Refusal:
    command: str
    exit_code: int
    message: str
    """Return the message after `kg: `, using single spaces."""


def refusals(server: Neo4jServer, folder: Path, **env: str) -> list[Refusal]:
    """Run a service and a worker with invalid variables, and yield their exit codes. This asserts that
    the output has the message, but no traceback or key."""
    settings = environment(server, KG_API__PORT=str(find_free_port()), **env)
    running = [
        (command, start([command], settings, folder / f"{command}.log")) for command in ("serve", "worker")
    ]
    try:
        for _, each in running:
            each.process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        raise AssertionError("it has started: " + " ".join(each.output() for _, each in running)) from None
    finally:
        for _, each in running:
            if each.process.poll() is None:
                each.kill()
    return [_told(command, each.process.wait(0), each.output()) for command, each in running]


def _told(command: str, exit_code: int, output: str) -> Refusal:
    assert "Traceback" not in output
    assert CANARY not in output
    logged, _, message = output.rpartition("kg: ")
    assert all("exception" not in json.loads(line) for line in logged.splitlines())
    return Refusal(command, exit_code, " ".join(message.split()))
