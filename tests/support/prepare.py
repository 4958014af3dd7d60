"""What the tests keep from one run to the next; it is made anew when it is missing or out of date.

`python -m tests.support.prepare`, as `tasks.py test` does; without it the tests are the same, and slower.
"""

from __future__ import annotations

import sys

from tests.neo4j_server import managed_server
from tests.support import migrated_home, warm_java


def main() -> None:
    """Make what is missing."""
    if not migrated_home.kept().exists():
        sys.stderr.write("preparing a migrated database for the tests (once)\n")
        with managed_server(first_start=True) as server:
            migrated_home.keep(server)
    if not warm_java.cache().exists():
        sys.stderr.write("preparing a cache for the JVMs of the tests (once)\n")
        warm_java.make()


if __name__ == "__main__":
    main()
