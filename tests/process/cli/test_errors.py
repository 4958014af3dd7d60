import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kg_cli import main
from tests.neo4j_server import Neo4jServer
from tests.process.cli.conftest import Kg
from tests.support.running import Service, environment, started

SETTINGS = {
    "KG_WORKER__METRICS_PORT": "0",
    "KG_NEO4J__URI": "http://127.0.0.1",
    "KG_EMBEDDING__PROVIDER": "magic",
    "KG_API_URL": "ftp://127.0.0.1",
    "KG_NEO4J__HEAP": "1",
}


@pytest.mark.parametrize("command", [["search", "x"], ["serve"], ["worker"], ["status"]], ids=" ".join)
def test_wrong_settings_are_all_named(kg: Kg, command: list[str]) -> None:
    ran = kg(*command, env=SETTINGS)
    assert (ran.returncode, ran.stdout) == (78, "")
    assert [name for name in SETTINGS if name not in ran.stderr] == []
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    "command", [["documents"], ["ingest", "README.md", "-o", "x"], ["jobs", "watch"]], ids=" ".join
)
def test_unreachable_service_is_one_line(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KG_API_URL", "http://127.0.0.1:1")
    assert main.run_command(command) == 69
    told = capsys.readouterr()
    assert told.err.startswith("kg: kg does not respond at http://127.0.0.1:1")
    assert "`kg up`" in told.err
    assert len(told.err.splitlines()) == 1


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (["show", "nosuch"], 4, "source or document 'nosuch' not found"),
        (["jobs", "watch", "nosuch"], 4, "`kg jobs list`"),
        (["delete", "document", "nosuch"], 4, "`kg documents`"),
        (["admin", "source-embeddings", "status", "-o", "nosuch"], 4, "`kg ontologies`"),
        (["search", "x", "-o", "nosuch"], 4, "ontology 'nosuch' not found"),
        (["search", "   "], 2, "the text is empty"),
        (["search", "x", "--limit", "0"], 2, "--limit"),
        (["jobs", "list", "--state", "magic"], 2, "state"),
        (["ingest", "/nonexistent", "-o", "notes"], 2, "no such file or folder"),
        (["ingest", "README.md"], 2, "--ontology"),
        (["nosuch"], 2, "nosuch"),
    ],
)
def test_wrong_commands_have_their_exit_code(kg: Kg, command: list[str], code: int, words: str) -> None:
    ran = kg(*command)
    assert (ran.returncode, ran.stdout) == (code, ""), ran.stderr
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr


def test_closed_output_pipe_is_silent(server: Neo4jServer, service: Service) -> None:
    command = f"{sys.executable} -m kg_cli.main jobs list --json | head -c 1"
    env = environment(server, KG_API_URL=service.url)
    ran = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("{", "")


def test_a_taken_port_of_the_metrics_is_named(server: Neo4jServer, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        env = environment(server, KG_WORKER__METRICS_PORT=str(taken.getsockname()[1]))
        with started(["worker"], env, tmp_path / "worker.log") as worker:
            assert worker.process.wait(60) == 78
    assert "KG_WORKER__METRICS_PORT" in worker.output()
    assert "bug in kg" not in worker.output()
