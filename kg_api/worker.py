"""Worker process for background jobs."""

from __future__ import annotations

import os
import signal
import socket
import threading
import uuid
from types import FrameType

import structlog

from kg_api.container import Container, open_container
from kg_api.errors import ConfigurationError, Unavailable
from kg_api.jobs.backfill import enqueue_periodically
from kg_api.jobs.runner import Runner, WorkerRegistration
from kg_api.logs import configure_logs
from kg_api.machine import freeze_heap
from kg_api.metrics import serve_metrics
from kg_api.settings import Settings
from kg_api.tracing import tracing

log = structlog.get_logger()

RETRY_SECONDS = 1.0
STOPPING = (signal.SIGTERM, signal.SIGINT)
GRACE_EXIT_CODE = 75  # the current batch exceeded the grace period


def work(settings: Settings) -> None:
    """Run jobs until SIGTERM or SIGINT, then finish the current batch and release the job.

    A second signal, or a batch that exceeds the grace period, ends the process. Another worker continues the
    job after the lease expires.
    """
    configure_logs(settings.log)
    stopping = _stop_on_signals(settings.worker.grace_seconds)
    os.nice(settings.worker.niceness)
    if (port := settings.worker.metrics_port) is not None:
        try:
            serve_metrics(port)
        except OSError as error:
            raise ConfigurationError(
                f"port {port} of KG_WORKER__METRICS_PORT cannot be used ({error.strerror}). Each "
                "worker on a machine needs its own port. Set another port, or unset the variable"
            ) from error
    container = _open(settings, stopping)
    if container is None:
        return
    worker = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    log.info("worker starts", worker=worker)
    with container, tracing(settings.otel.exporter_otlp_endpoint, "kg-worker"):
        graph, handlers = container.graph, container.handlers()
        presence = WorkerRegistration(graph, worker, [handler.kind for handler in handlers])
        with enqueue_periodically(graph, settings.worker.tick_seconds, presence):
            Runner(graph, handlers, settings.worker, worker=worker, stopping=stopping).run_until_stopped()
    log.info("worker ends", worker=worker)


def _open(settings: Settings, stopping: threading.Event) -> Container | None:
    """Open the container. Wait while the database is unavailable. Return None if the worker must stop."""
    while not stopping.is_set():
        try:
            container = open_container(settings, needs_embedder=True)
        except Unavailable as error:
            log.warning("waiting", reason=str(error))
            stopping.wait(RETRY_SECONDS)
        else:
            freeze_heap()
            return container
    return None


def _stop_on_signals(grace_seconds: float) -> threading.Event:
    """Return an event for the first signal. A second signal or the end of the grace period ends the process.

    Python runs a signal handler only after the current call of the main thread, such as a model call. The
    wakeup socket receives signals immediately, and a separate thread reads it.
    """
    stopping = threading.Event()
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    for number in STOPPING:
        signal.signal(number, _ignore)
    signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)

    def watch() -> None:
        receiver.recv(1)
        stopping.set()
        receiver.settimeout(grace_seconds)
        try:
            code = 128 + receiver.recv(1)[0]
        except TimeoutError:
            code = GRACE_EXIT_CODE
            log.critical("worker stops: the current batch exceeds the grace period", seconds=grace_seconds)
        sender.close()  # this reference keeps the socket open until here
        os._exit(code)

    threading.Thread(target=watch, name="signals", daemon=True).start()
    return stopping


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing. The thread of `_stop_on_signals` handles signals."""
