"""Snowball's stemmers, one a thread and algorithm, for they are not safe in several threads."""

from __future__ import annotations

import threading
from typing import cast

import Stemmer

_local = threading.local()


def stem(word: str, algorithm: str) -> str:
    """The stem of a word in lower case, by one of Snowball's algorithms, such as `german` or `porter`."""
    if not hasattr(_local, algorithm):
        setattr(_local, algorithm, Stemmer.Stemmer(algorithm))
    return cast("str", getattr(_local, algorithm).stemWord(word))
