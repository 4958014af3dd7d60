"""Pages that were drawn stay in memory, no more than so many bytes of them."""

from __future__ import annotations

from kg_api.blobs.pages import PageCache
from kg_api.schemas.images import DrawnPage


def page(size: int) -> DrawnPage:
    return DrawnPage(1, bytes(size), 0)


def test_the_page_that_was_not_asked_for_longest_goes_first() -> None:
    cache = PageCache(100)
    for key in "ab":
        cache.put(key, page(40))
    assert cache.get("a") == page(40)
    cache.put("c", page(40))
    assert [cache.get(key) is not None for key in "abc"] == [True, False, True]


def test_a_page_that_is_too_large_drives_none_out() -> None:
    cache = PageCache(100)
    cache.put("a", page(60))
    cache.put("b", page(101))
    assert [cache.get(key) is not None for key in "ab"] == [True, False]


def test_the_same_page_twice_is_counted_once() -> None:
    cache = PageCache(100)
    for _ in range(5):
        cache.put("a", page(50))
    cache.put("b", page(50))
    assert [cache.get(key) is not None for key in "ab"] == [True, True]
