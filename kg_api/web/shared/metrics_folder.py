"""Folder in which the processes of a service share their metrics.

prometheus_client reads its variable at import, so this module must not import other parts of kg.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager

METRICS = "PROMETHEUS_MULTIPROC_DIR"


@contextmanager
def shared_metrics(processes: int) -> Generator[None]:
    """Share metrics between all processes. You have to use this before you import prometheus_client."""
    if processes == 1 or METRICS in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="kg-metrics-", ignore_cleanup_errors=True) as folder:
        os.environ[METRICS] = folder
        yield
