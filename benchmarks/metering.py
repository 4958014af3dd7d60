"""What counting, timing and tracing cost: microseconds of each, the best of thirty rounds.

python -m benchmarks.metering             # each process keeps its metrics to itself
python -m benchmarks.metering --shared    # in files that processes share, as with `kg up`
"""

from __future__ import annotations

import argparse
import os
import tempfile
import timeit
from collections.abc import Callable

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
CALLS, ROUNDS = 2000, 30


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared", action="store_true")
    with tempfile.TemporaryDirectory() as folder:
        if parser.parse_args().shared:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # before prometheus_client is imported
        for name, call in calls().items():
            seconds = min(timeit.repeat(call, number=CALLS, repeat=ROUNDS)) / CALLS
            print(f"{name}: {seconds * 1e6:.1f} µs")


def calls() -> dict[str, Callable[[], None]]:
    from kg_api.metrics import get_meters  # noqa: PLC0415
    from kg_api.search.notes import Stopwatch  # noqa: PLC0415
    from kg_api.tracing import SpanKind, root_span, span  # noqa: PLC0415

    of, watch = get_meters(), Stopwatch()

    def request() -> None:
        of.count("http_requests_open")
        of.count("http_requests_open", by=-1)
        of.count("http_requests", "POST", "/queries/hybrid", "2xx")
        of.observe("http_request_seconds", "POST", "/queries/hybrid", seconds=0.01)

    def stage() -> None:
        with watch.stage("embed"):
            pass

    def statement() -> None:
        with of.under_way("neo4j_sessions_open"), of.timing("neo4j_seconds", "read"):
            pass

    def untraced() -> None:
        with root_span("x", SpanKind.SERVER, None):
            pass

    def carried_on() -> None:
        with root_span("x", SpanKind.SERVER, GIVEN):
            pass

    def inner() -> None:
        with span("x"):
            pass

    return {
        "a request, counted": request,
        "a stage, timed": stage,
        "a statement, timed": statement,
        "a request without a trace, nothing sent": untraced,
        "a request with a client's trace, nothing sent": carried_on,
        "a span within, nothing sent": inner,
    }


if __name__ == "__main__":
    main()
