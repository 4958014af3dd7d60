"""Data that tests keep between runs. Missing or outdated data is created.

`tasks.py test` runs `python -m tests.support.prepare`. Tests are slower without it.
"""

import sys

from tests.neo4j_server import managed_server
from tests.support import migrated_home, warm_java


def main() -> None:
    if not migrated_home.kept().exists():
        sys.stderr.write("preparing a migrated database for the tests (once)\n")
        with managed_server(first_start=True) as server:
            migrated_home.keep(server)
    if not warm_java.cache().exists():
        sys.stderr.write("preparing a cache for the JVMs of the tests (once)\n")
        warm_java.make()


if __name__ == "__main__":
    main()
