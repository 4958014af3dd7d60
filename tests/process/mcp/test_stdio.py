import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.support.forked import ROOT, ForkedProcess
from tests.support.mcp import BEFORE
from tests.support.running import OURS

KG = "kg_cli.main:run"
NOISY = "tests.process.mcp.noisy:run"
Json = dict[str, Any]


def pipe() -> tuple[IO[bytes], IO[bytes]]:
    reader, writer = os.pipe()
    return os.fdopen(reader, "rb"), os.fdopen(writer, "wb")


class Agent:
    """Client that writes lines to a server and reads its lines."""

    def __init__(self, entry: str, log: Path, *options: str, **env: str) -> None:
        own = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        self.log = log
        asked, self.stdin = pipe()
        self.stdout, told = pipe()
        with asked, told, log.open("wb") as errors:
            self.process = ForkedProcess(
                entry, ["mcp", *options], env={**own, **env}, files=(asked, told, errors), cwd=ROOT
            )

    def send(self, line: bytes | Json) -> None:
        self.stdin.write((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")
        self.stdin.flush()

    def read(self) -> Json:
        return json.loads(self.stdout.readline())

    def ask(self, method: str, number: int = 1, **params: Any) -> Json:
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        answer = self.read()
        assert answer["id"] == number
        return answer

    def begin(self, version: str = BEFORE) -> Json:
        about = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        answer = self.ask("initialize", 0, **about)["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def end(self) -> tuple[int, bytes]:
        self.stdin.close()
        return self.process.wait(30), self.stdout.read()


Start = Callable[..., Agent]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Agent] = []

    def begin(entry: str, *options: str, **env: str) -> Agent:
        usual = {"KG_HOME": str(tmp_path / "home")}
        agent = Agent(entry, tmp_path / f"{len(started)}.log", *options, **{**usual, **env})
        started.append(agent)
        return agent

    yield begin
    for agent in started:
        agent.process.kill()
        agent.process.wait()
        agent.stdin.close()
        agent.stdout.close()


def test_standard_output_contains_only_protocol(start: Start) -> None:
    agent = start(NOISY)
    agent.begin()
    told = agent.ask("tools/call", name="list_ontologies", arguments={})["result"]
    assert told["structuredContent"]["ontologies"][0]["ontology"] == "nature"
    assert agent.end() == (0, b"")
    log = agent.log.read_text()
    for way in ("print", "sys.stdout", "the first", "the descriptor", "a child", "logging", "a log of ours"):
        assert f"NOISE by {way}" in log


def test_it_ends_when_standard_input_closes(start: Start) -> None:
    assert start(KG).end() == (0, b"")
    agent = start(KG)
    agent.begin()
    assert agent.end() == (0, b"")


def test_it_ends_on_ctrl_c(start: Start) -> None:
    agent = start(KG)
    agent.begin()
    agent.process.send_signal(signal.SIGINT)
    assert agent.process.wait(30) == 130
    assert "Traceback" not in agent.log.read_text()


def test_invalid_line_is_answered_and_the_next_served(start: Start) -> None:
    agent = start(KG)
    for line, code in [
        (b"nonsense", -32700),
        (b"[]", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b"\xff\xfe", -32700),
        (b'"' + b"x" * 10_000_000, -32700),
        (b"[" * 100_000, -32700),
    ]:
        agent.send(line)
        answer = agent.read()
        assert (answer["id"], answer["error"]["code"]) == (None, code)
    assert agent.begin()["serverInfo"]["name"] == "kg"
    agent.send(b"{")
    assert agent.read()["error"]["code"] == -32700
    assert agent.ask("ping")["result"] == {}
    assert agent.end() == (0, b"")


def test_missing_service_is_reported_at_each_call(start: Start) -> None:
    agent = start(KG)
    agent.begin()
    assert len(agent.ask("tools/list")["result"]["tools"]) >= 4
    told = agent.ask("tools/call", name="list_ontologies", arguments={})["result"]
    assert told["isError"]
    assert "Start it with `kg up`" in told["content"][0]["text"]
