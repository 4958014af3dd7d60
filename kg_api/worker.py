"""The process that does the background work."""

from __future__ import annotations

import gc
import os
import signal
import socket
import threading
import uuid
from types import FrameType

import structlog

from kg_api.container import Container, open_container
from kg_api.errors import ConfigurationError, Unavailable
from kg_api.jobs.backfill import ticking
from kg_api.jobs.runner import Runner, WorkerRegistration
from kg_api.logs import configure_logs
from kg_api.metrics import serve_metrics
from kg_api.settings import Settings
from kg_api.tracing import tracing

log = structlog.get_logger()

RETRY_SECONDS = 1.0
STOPPING = (signal.SIGTERM, signal.SIGINT)
GRACE_EXIT_CODE = 75
"""Of a worker that was told to end and whose batch took too long."""


def work(settings: Settings) -> None:
    """Work until SIGTERM or SIGINT: then the batch at hand is ended, the job given back.

    A second signal, or a batch that takes longer than the time of grace, ends the process at once; the job
    goes on elsewhere when its lease has run out.
    """
    configure_logs(settings.log)
    stopping = _stop_on_signals(settings.worker.grace_seconds)
    os.nice(settings.worker.niceness)
    if (port := settings.worker.metrics_port) is not None:
        try:
            serve_metrics(port)
        except OSError as error:
            raise ConfigurationError(
                f"port {port}, which KG_WORKER__METRICS_PORT asks for, cannot be used ({error.strerror}): "
                "each worker of a machine needs one of its own; set another, or unset it"
            ) from error
    container = _open(settings, stopping)
    if container is None:
        return
    worker = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    log.info("worker starts", worker=worker)
    with container, tracing(settings.otel.exporter_otlp_endpoint, "kg-worker"):
        graph, handlers = container.graph, container.handlers()
        presence = WorkerRegistration(graph, worker, [handler.kind for handler in handlers])
        with ticking(graph, settings.worker.tick_seconds, presence):
            Runner(graph, handlers, settings.worker, worker=worker, stopping=stopping).run_until_stopped()
    log.info("worker ends", worker=worker)


def _open(settings: Settings, stopping: threading.Event) -> Container | None:
    """Open the container, waiting for a database that is away; None when told to stop meanwhile."""
    while not stopping.is_set():
        try:
            container = open_container(settings, needs_embedder=True)
        except Unavailable as error:
            log.warning("waiting", reason=str(error))
            stopping.wait(RETRY_SECONDS)
        else:
            gc.collect()
            gc.freeze()  # as in the service: what lives as long as the process is not looked at again
            return container
    return None


def _stop_on_signals(grace_seconds: float) -> threading.Event:
    """Set the event at the first signal; at the second, or when grace is over, end the process.

    Python runs a handler only when the main thread comes back from what it calls, and that may be a model at
    work. The wakeup socket is written to at once, and a thread of its own reads it.
    """
    stopping = threading.Event()
    told, telling = socket.socketpair()
    telling.setblocking(False)
    for number in STOPPING:
        signal.signal(number, _ignore)
    signal.set_wakeup_fd(telling.fileno(), warn_on_full_buffer=False)

    def watch() -> None:
        told.recv(1)
        stopping.set()
        told.settimeout(grace_seconds)
        try:
            code = 128 + told.recv(1)[0]
        except TimeoutError:
            code = GRACE_EXIT_CODE
            log.critical("worker ends: the batch at hand takes longer than its grace", seconds=grace_seconds)
        telling.close()  # until here this keeps it open
        os._exit(code)

    threading.Thread(target=watch, name="signals", daemon=True).start()
    return stopping


def _ignore(number: int, frame: FrameType | None) -> None:
    """Leave it to the thread that watches."""
