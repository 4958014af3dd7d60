"""What `kg doctor` says of the embedding models: those that searches do without at the moment."""

from __future__ import annotations

from collections.abc import Iterator

from kg_api.errors import KgError
from kg_api.settings import Settings
from kg_cli.stack.doctor.findings import DoctorFinding
from kg_cli.terminal.connect import client_of

ANSWER_SECONDS = 10.0


def examine_models(url: str, settings: Settings) -> Iterator[DoctorFinding]:
    """Ask a service that answers what it knows of its models; none is asked anything for it."""
    with client_of(url, settings, timeout_seconds=ANSWER_SECONDS) as client:
        try:
            checks = [each for each in client.readiness().checks if each.name == "model"]
        except KgError:  # told with the jobs
            return
    for check in checks:
        fix = "" if check.ok else "mend that, then `kg admin spaces health` asks the models at once"
        yield DoctorFinding("model", "ok" if check.ok else "warn", check.detail, fix)
