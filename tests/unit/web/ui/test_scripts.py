from __future__ import annotations

import re

from kg_api.web.ui.rendering import FOLDER

DECLARED = re.compile(r"^(?:const|let|var|class|(?:async )?function)\s", re.MULTILINE)


def test_page_script_keeps_its_names_private() -> None:
    script = (FOLDER / "page.js").read_text("utf-8")
    shared, block, own = script.partition("\n{")
    assert block, "all of it stands in a block"
    assert not DECLARED.search(shared)
    assert own.rstrip().endswith("\n}")
