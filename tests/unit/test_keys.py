"""Keys of providers: a real one is taken, whatever letters it has by chance (A8)."""

from __future__ import annotations

import string

from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import SecretStr

from kg_api.sections import OpenAISettings


@given(st.text(string.ascii_letters + string.digits + "-_", min_size=20, max_size=160))
@example("a1Your-b2_xxx-c3Example_" * 6)
@example("xxxA-placeholder0_changeme1")
def test_a_key_of_the_real_alphabet_is_no_placeholder(rest: str) -> None:
    """One in 220 random keys has `xxx` or `your` in it, in some case."""
    key = SecretStr(f"sk-proj-{rest}A7")
    assert OpenAISettings(api_key=key).api_key == key
