"""The processes that `kg up` runs, by themselves: for servers and containers."""

from __future__ import annotations


def serve() -> None:
    """Run the REST service in the foreground (`kg up` does it for you).

    Example: KG_NEO4J__URI=bolt://127.0.0.1:7687 KG_NEO4J__PASSWORD=... kg serve
    """
    from kg_api.settings import load_settings
    from kg_api.web.serve import serve as run

    run(load_settings())


def worker() -> None:
    """Run a worker in the foreground (`kg up` does it for you). Several share the work.

    Example: KG_NEO4J__URI=bolt://127.0.0.1:7687 KG_NEO4J__PASSWORD=... kg worker
    """
    from kg_api.settings import load_settings
    from kg_api.worker.main import work

    work(load_settings())
