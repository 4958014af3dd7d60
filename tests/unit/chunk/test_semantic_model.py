from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from kg_api.errors import ConfigurationError
from kg_api.text import sentence_vectors
from kg_api.text.sentence_vectors import open_sentence_vectors


def test_near_meanings_are_near() -> None:
    vectors = open_sentence_vectors()(["The cat sleeps.", "A kitten is napping.", "Interest rates rose."])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


def test_a_vector_does_not_depend_on_its_neighbours() -> None:
    embed = open_sentence_vectors()
    assert (embed(["alone"])[0] == embed(["long " * 500, "alone"])[1]).all()


def test_no_texts_and_blank_texts() -> None:
    embed = open_sentence_vectors()
    assert embed([]).shape == (0, 256)
    assert not embed([""]).any()


def test_the_package_is_not_imported() -> None:
    program = (
        "import sys; from kg_api.text.sentence_vectors import open_sentence_vectors; open_sentence_vectors();"
        "sys.exit('wordllama' in sys.modules or 'requests' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_vectors, "PACKAGE", "no_such_package_here")
    with pytest.raises(ConfigurationError, match="no_such_package_here"):
        open_sentence_vectors()


def test_another_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_vectors, "_TOKENIZER", (sentence_vectors._TOKENIZER[0], "0" * 64))
    with pytest.raises(ConfigurationError, match="not the file that kg knows"):
        open_sentence_vectors()
