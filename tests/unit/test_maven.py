import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from jgo.env import LockedDependency, LockFile
from jgo.maven import _core

from kg_api import maven
from kg_api.errors import ManagedProcessError

JAR = b"a jar" * 1000


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes | int]]:
    """Answers of a Maven repository in order: content, or a status. The last one is repeated."""
    answers: list[bytes | int] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            assert self.path == "/org/example/small/1.0/small-1.0-linux.jar"
            status, content = (200, answer) if isinstance(answer, bytes) else (answer, b"")
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - name of the base class

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setitem(_core.DEFAULT_REMOTE_REPOS, "central", f"http://127.0.0.1:{server.server_port}")
    yield answers
    server.shutdown()
    server.server_close()


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "small.lock.toml"
    digest = hashlib.sha256(JAR).hexdigest()
    LockFile([LockedDependency("org.example", "small", "1.0", classifier="linux", sha256=digest)]).save(path)
    return path


def files(folder: Path) -> list[str]:
    return sorted(each.name for each in (folder / "m2").rglob("*") if each.is_file())


def test_damaged_download_is_repeated(tmp_path: Path, lock: Path, answers: list[bytes | int]) -> None:
    answers += [JAR[:-1], JAR, 500]
    (path,) = maven.fetch(lock, tmp_path)
    assert path.read_bytes() == JAR
    assert files(tmp_path) == ["small-1.0-linux.jar"]
    path.write_bytes(b"damaged")
    assert maven.fetch(lock, tmp_path) == [path], "checked once: each start of Neo4j compares checksums"


@pytest.mark.parametrize(("answer", "problem"), [(404, "404"), (JAR[:-1], "checksum")])
def test_failed_download_leaves_nothing(
    tmp_path: Path, lock: Path, answers: list[bytes | int], answer: bytes | int, problem: str
) -> None:
    answers.append(answer)
    with pytest.raises(ManagedProcessError, match=f"small 1.0 cannot be downloaded.*{problem}"):
        maven.fetch(lock, tmp_path)
    assert not (tmp_path / "verified").exists()
    assert not (tmp_path / "m2").exists()
