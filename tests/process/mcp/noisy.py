import logging
import os
import subprocess
import sys

import structlog

from kg_api.logs import configure_logs
from kg_api.mcp.server import run_stdio
from kg_api.schemas.documents import OntologyList
from kg_api.settings import LogSettings
from tests.support.library import MemoryLibrary


class NoisyLibrary(MemoryLibrary):
    def ontologies(self) -> OntologyList:
        print("NOISE by print")  # noqa: T201 - that is the point
        sys.stdout.write("NOISE by sys.stdout")
        (sys.__stdout__ or sys.stdout).write("NOISE by the first sys.stdout\n")
        os.write(1, b"NOISE by the descriptor\n")
        subprocess.run(["echo", "NOISE by a child"], check=True)
        logging.getLogger("library").warning("NOISE by logging")
        structlog.get_logger().warning("NOISE by a log of ours")
        return super().ontologies()


def run() -> None:
    configure_logs(LogSettings())
    noisy = NoisyLibrary()
    noisy.add("nature", "bees.txt", ["Bees dance."])
    run_stdio(noisy.call)
