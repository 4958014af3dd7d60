"""Atomic writes of private files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

FOLDER_MODE: Final = 0o700


def write_whole(path: Path, content: bytes, *, prefix: str) -> None:
    """Write a file with mode 0600 atomically. `prefix` starts the name of the temporary file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix)  # mkstemp gives mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
