import sys
import time
from pathlib import Path

import psutil
import pytest

from kg_api.errors import ManagedProcessError
from kg_api.local import processes
from kg_api.local.processes import Home, ProcessId
from tests.process.managed.dummy import script_role, until

SLEEP = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"


def run(tmp_path: Path, script: str) -> ProcessId:
    return processes.spawn(
        [sys.executable, "-c", script], env=processes.inherit(), log=tmp_path / "log", cwd=tmp_path
    )


def said_up(tmp_path: Path) -> bool:
    return (tmp_path / "log").read_text().endswith("up\n")


def test_ending_is_gentle_first(tmp_path: Path) -> None:
    process = run(tmp_path, SLEEP)
    until(lambda: said_up(tmp_path), "start")
    process.end(grace_seconds=10)
    assert not process.is_alive()
    assert processes.exit_code(process) == -15


def test_process_that_ignores_signals_is_killed(tmp_path: Path) -> None:
    process = run(tmp_path, STUBBORN)
    until(lambda: said_up(tmp_path), "start")
    begun = time.monotonic()
    process.end(grace_seconds=0.3)
    assert time.monotonic() - begun >= 0.3
    assert processes.exit_code(process) == -9
    assert not process.is_alive()


def test_a_zombie_is_not_alive(tmp_path: Path) -> None:
    parent = (
        "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', '']); "
        f"print(child.pid, flush=True); {SLEEP}"
    )
    process = run(tmp_path, parent)
    until(lambda: said_up(tmp_path), "start")
    child = int((tmp_path / "log").read_text().split()[0])
    until(lambda: psutil.Process(child).status() == psutil.STATUS_ZOMBIE, "the child's end")
    assert processes.identify(child) is None
    process.kill()


def test_death_during_wait_is_reported_with_log_end(tmp_path: Path) -> None:
    home = Home(tmp_path / "kg").create()
    role = script_role(home, "sick", ("-c", "raise SystemExit('the disk is on fire')"), port=1)
    with pytest.raises(ManagedProcessError, match="the disk is on fire"):
        processes.wait(role, processes.start(role), timeout=20)
