import contextlib
import subprocess
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")
HOLD = 'mount -t tmpfs -o size="$2" tmpfs "$1" && echo mounted && exec cat'
"""Process that ends when its standard input is closed."""


@dataclass(frozen=True)
class SmallDisk:
    """File system to test with. Processes can see it if you start them with `prefix`, and this process
    can use `seen`."""

    folder: Path
    holder: int

    @property
    def prefix(self) -> tuple[str, ...]:
        """Prefix to add to a command, so that it can use the file system."""
        place = ("--target", str(self.holder), "--user", "--mount", "--preserve-credentials")
        return ("nsenter", *place, f"--wd={Path.cwd()}")

    @property
    def seen(self) -> Path:
        return Path(f"/proc/{self.holder}/root{self.folder}")

    def fill(self) -> None:
        with (self.seen / "ballast").open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * (1 << 20))
        with (self.seen / "ballast").open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0")

    def free(self) -> None:
        (self.seen / "ballast").unlink()


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Generator[SmallDisk]:
    """Mount a file system with this size, such as 300m. If this is not permitted, skip the test."""
    folder.mkdir()
    with subprocess.Popen(
        [*UNSHARE, "sh", "-c", HOLD, "sh", str(folder), size],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdin
        assert holder.stdout
        assert holder.stderr
        if holder.stdout.readline() != "mounted\n":
            pytest.skip(f"no file system can be mounted in a user namespace here: {holder.stderr.read()}")
        try:
            yield SmallDisk(folder, holder.pid)
        finally:
            holder.stdin.close()
