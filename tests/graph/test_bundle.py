"""What is exported and imported again is found as it was: same hits, same scores."""

from __future__ import annotations

from pathlib import Path

import neo4j
import pytest

from kg_api.blobs.files import FileStore
