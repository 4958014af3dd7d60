"""Scripts of pages share one page, and so must not share names."""

from __future__ import annotations

import re

from kg_api.web.ui.rendering import FOLDER

DECLARED = re.compile(r"^(?:const|let|var|class|(?:async )?function)\s", re.MULTILINE)


def test_the_script_of_every_page_keeps_its_names_to_itself() -> None:
    script = (FOLDER / "page.js").read_text("utf-8")
    shared, block, own = script.partition("\n{")
    assert block, "all of it stands in a block"
    assert not DECLARED.search(shared)
    assert own.rstrip().endswith("\n}")
