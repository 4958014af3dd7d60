"""Minimal S3 server for one bucket. obstore signs the requests, so the server checks only the key id."""

import hashlib
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

KEY_ID, SECRET = "AKIATESTKEY", "wJalrXUtnFEMIsecretOfTests"
BUCKET, REGION = "kg-files", "eu-test-1"


@dataclass
class Bucket:
    objects: dict[str, bytes] = field(default_factory=dict[str, bytes])
    asked: list[str] = field(default_factory=list[str])
    """Method and path of each request."""
    failing: tuple[int, str] | None = None
    """Status and code of every answer."""
    url: str = ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bucket: Bucket

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if (key := self._key()) is not None:
            self.bucket.objects[key] = content
            self._answer(200)

    def do_GET(self) -> None:
        if (key := self._key()) is not None:
            self._give(key)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_DELETE(self) -> None:
        """Delete an object. If it does not exist, this is not an error."""
        if (key := self._key()) is not None:
            self.bucket.objects.pop(key, None)
            self._answer(204)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        ...

    def _key(self) -> str | None:
        path = urlsplit(self.path).path
        self.bucket.asked.append(f"{self.command} {path}")
        if self.bucket.failing:
            return self._refuse(*self.bucket.failing)
        if f"Credential={KEY_ID}/" not in self.headers.get("Authorization", ""):
            return self._refuse(403, "AccessDenied")
        _, bucket, key = path.split("/", 2)
        return key if bucket == BUCKET else self._refuse(404, "NoSuchBucket")

    def _give(self, key: str) -> None:
        content = self.bucket.objects.get(key)
        if content is None:
            self._refuse(404, "NoSuchKey")
        else:
            self._answer(200, content)

    def _refuse(self, status: int, code: str) -> None:
        told = f"<Error><Code>{code}</Code><Message>{KEY_ID} {SECRET}</Message></Error>"
        self._answer(status, told.encode())

    def _answer(self, status: int, content: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("ETag", f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"')
        self.send_header("Last-Modified", "Wed, 25 Nov 2026 00:00:00 GMT")
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@contextmanager
def s3_server() -> Generator[Bucket]:
    """Serve a bucket on a free port of this machine."""
    bucket = Bucket()
    handler = type("Handler", (_Handler,), {"bucket": bucket})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    bucket.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
