from typing import Any

import pytest
from mcp.server.lowlevel import Server

from kg_api.mcp.server import make_server
from tests.support.library import PARAGRAPHS, MemoryLibrary


@pytest.fixture
def library() -> MemoryLibrary:
    made = MemoryLibrary()
    made.add("nature", "bees.txt", PARAGRAPHS)
    for number in range(30):
        made.add("notes", f"note-{number:02}.txt", [f"Note {number} is about bees and Bees."])
    return made


@pytest.fixture
def server(library: MemoryLibrary) -> Server[Any]:
    return make_server(library.call)
