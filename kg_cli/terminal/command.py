"""How the running `kg` is called from the shell it was called from."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def runnable() -> str:
    """`kg` where PATH finds the one that runs, else its file, relative where it is below this directory."""
    own = Path(sys.argv[0]).absolute()
    found = shutil.which("kg")
    if own.name != "kg" or not own.is_file() or (found is not None and own.samefile(found)):
        return "kg"
    here = Path.cwd()
    if own.parent == here:
        return "./kg"
    return shlex.quote(str(own.relative_to(here) if own.is_relative_to(here) else own))
