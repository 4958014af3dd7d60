from __future__ import annotations

import os
from pathlib import Path

import pytest

from kg_api.local import processes, supervisor
from kg_api.local.processes import Home
from kg_api.local.supervisor import RoleStatus, State
from kg_api.settings import load_settings
from kg_api.web.shared.health import ProcessHealth


@pytest.mark.parametrize(
    ("restarts", "told"),
    [(0, "all running, 0 restarts"), (1, "all running, 1 restart"), (2, "all running, 2 restarts")],
)
def test_restarts_are_counted_as_a_person_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restarts: int, told: str
) -> None:
    monkeypatch.setenv("KG_HOME", str(tmp_path))
    home = Home(tmp_path).create()
    home.remember(neo4j=17000)
    me = processes.identify(os.getpid())
    assert me
    processes.save(home.pid_file("supervisor"), me)
    worker = RoleStatus("ready", me.pid, 0, "", restarts=restarts)
    supervisor.write(home, State("1", home.bolt_uri() or "", {"worker": worker}))
    checks = {check.name: check.detail for check in ProcessHealth(load_settings()).checks()}
    assert checks["processes"] == told
