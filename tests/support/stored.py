"""Files that hold what a test found last, so that each change of it is seen.

After an intended change, run the test with KG_TEST_WRITE=1, and read the difference of the file.
"""

import os
from collections.abc import Sequence
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"


def compare_with_stored(name: str, lines: Sequence[str]) -> None:
    path = DATA / name
    if "KG_TEST_WRITE" in os.environ:
        path.write_text("\n".join([*lines, ""]), "utf-8")
    assert list(lines) == path.read_text("utf-8").splitlines()
