"""The synchronous client is written by scripts/unasync.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "scripts" / "unasync.py"


def test_the_synchronous_client_is_that_of_the_asynchronous_one() -> None:
    checked = subprocess.run((sys.executable, SCRIPT, "--check"), check=False, capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")
