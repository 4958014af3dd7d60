import gzip
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True, slots=True)
class CollectedSpan:
    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    service: str
    status: str
    attributes: dict[str, str]


class Collector:
    """Server that collects the spans that are sent to it.

    Args:
        status: Status to return.
        delay: Number of seconds to wait before the response.
    """

    def __init__(self, status: int = 200, delay: float = 0.0) -> None:
        self.status = status
        self.delay = delay
        self.paths: list[str] = []
        self.spans: list[CollectedSpan] = []
        self.bodies: list[bytes] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self, path: str, body: bytes) -> None:
        self.paths.append(path)
        self.bodies.append(body)
        message: Any = ExportTraceServiceRequest.FromString(body)
        for resource in message.resource_spans:
            service = _attributes(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [_span(each, service) for each in scope.spans]

    def find(self, fits: Callable[[CollectedSpan], bool], seconds: float = 30.0) -> CollectedSpan:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if found := next(filter(fits, list(self.spans)), None):
                return found
            time.sleep(0.05)
        raise AssertionError(f"no such span among {[each.name for each in self.spans]}")


def _span(span: Any, service: str) -> CollectedSpan:
    return CollectedSpan(
        span.name,
        span.kind,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        service,
        span.status.message if span.status.code else "",
        _attributes(span.attributes),
    )


def _attributes(pairs: Any) -> dict[str, str]:
    return {pair.key: pair.value.string_value or str(pair.value.int_value) for pair in pairs}


def _handler(collector: Collector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            packed = self.headers.get("content-encoding") == "gzip"
            collector.take(self.path, gzip.decompress(body) if packed else body)
            time.sleep(collector.delay)
            self.send_response(collector.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is theirs
            ...

    return Handler
