"""Opens the container. The service can already answer /health, and wait for the database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import structlog

from kg_api.container import Container, open_container
from kg_api.errors import KgError, Unavailable
from kg_api.graph.reach import limit_visible_ontologies
from kg_api.machine import freeze_heap
from kg_api.settings import Settings

log = structlog.get_logger()

RETRY_SECONDS = 1.0


class StartUp:
    """Container that is opened in a thread, with retries, and then searched once."""

    def __init__(self, settings: Settings, on_hopeless: Callable[[KgError], None]) -> None:
        self._settings = settings
        self._on_hopeless = on_hopeless
        self._container: Container | None = None
        self._reason: str | None = "the service to open database and model"
        self._closing = threading.Event()
        self._opened_at = time.monotonic()
        self._thread = threading.Thread(target=self._open, name="opening", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wait(self) -> None:
        """Wait until the container is open and warm, failed, or stopped."""
        self._thread.join()

    def stop(self) -> None:
        """Stop opening and warming up, without waiting."""
        self._closing.set()

    def close(self) -> None:
        """Stop opening and close the container."""
        self.stop()
        self._thread.join()  # a search that warms up would use the pools after their end
        if self._container is not None:
            self._container.close()

    def container(self) -> Container:
        """Return the container."""
        if self._container is None:
            raise Unavailable(f"not ready yet: {self._reason}")
        return self._container

    def waiting_for(self) -> str | None:
        """Get the reason why the service is not ready.

        Requests that come during the first searches are answered. They only take longer.
        """
        return self._reason

    def up_seconds(self) -> float:
        """Return the time since the container opened, or 0."""
        return 0.0 if self._container is None else time.monotonic() - self._opened_at

    def _give_up(self, error: KgError) -> None:
        self._reason = str(error)
        log.critical("the service cannot start", reason=str(error))
        self._on_hopeless(error)

    def _open(self) -> None:
        while not self._closing.is_set():
            try:
                with limit_visible_ontologies(None):
                    self._container = open_container(self._settings, needs_embedder=False)
            except Unavailable as error:
                self._reason = str(error)
                self._closing.wait(RETRY_SECONDS)
            except KgError as error:
                self._give_up(error)
                return
            except Exception as error:  # without it, the thread would end silently
                log.critical("unexpected error while opening", exc_info=error)
                self._give_up(KgError("the service cannot start. Its log shows the cause"))
                return
            else:
                freeze_heap()
                self._opened_at = time.monotonic()
                log.info("service open")
                self._reason = "the first searches, which take longer"
                try:
                    self._warm_up(self._container)
                finally:  # also after a bug, which surfaces: without these searches, kg is only slower
                    self._reason = None
                return

    def _warm_up(self, container: Container) -> None:
        try:
            with limit_visible_ontologies(None):
                container.search.warm_up(self._closing.is_set)
        except KgError as error:
            if not self._closing.is_set():
                log.warning("the first searches will be slow", reason=str(error))
