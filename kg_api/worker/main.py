"""The process that does the background work."""

from __future__ import annotations

import os
import signal
import socket
import threading
import uuid
from types import FrameType

import structlog

from kg_api.bootstrap import Container, open_container
from kg_api.errors import Unavailable
from kg_api.jobs.runner import Runner
from kg_api.jobs.schedule import ticking
from kg_api.logs import configure_logs
from kg_api.metrics import serve_metrics
from kg_api.settings import Settings

log = structlog.get_logger()

RETRY_SECONDS = 1.0


def work(settings: Settings) -> None:
    """Work until SIGTERM or SIGINT: then the batch at hand is ended, the job given back.

    A second signal ends the process at once; the job goes on elsewhere when its lease has run out.

    Raises:
        ConfigurationError: settings, schema or model do not fit.
    """
    configure_logs(settings.log)
    stopping = _stop_on_signals()
    os.nice(settings.worker.niceness)
    if settings.worker.metrics_port is not None:
        serve_metrics(settings.worker.metrics_port)
    container = _open(settings, stopping)
    if container is None:
        return
    worker = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    log.info("worker starts", worker=worker)
    with container, ticking(container.graph, settings.worker.tick_seconds):
        runner = Runner(
            container.graph, container.handlers(), settings.worker, worker=worker, stopping=stopping
        )
        runner.run_until_stopped()
    log.info("worker ends", worker=worker)


def _open(settings: Settings, stopping: threading.Event) -> Container | None:
    """Open the container, waiting for a database that is away; None when told to stop meanwhile."""
    while not stopping.is_set():
        try:
            return open_container(settings, needs_embedder=True)
        except Unavailable as error:
            log.warning("waiting", reason=str(error))
            stopping.wait(RETRY_SECONDS)
    return None


def _stop_on_signals() -> threading.Event:
    stopping = threading.Event()

    def on_signal(number: int, _: FrameType | None) -> None:
        if stopping.is_set():
            os._exit(128 + number)
        stopping.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    return stopping
