"""What of a document's metadata stands in front of its chunks when they are embedded by a template. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kg_api.models.library.metadata import MetadataValue

_DATES = ("date", "published", "updated", "created")
_PEOPLE = ("author", "authors", "by")


def date_and_people(metadata: Mapping[str, MetadataValue]) -> tuple[str, str]:
    """When a document was written and by whom, each empty where it is not known."""
    folded = {key.casefold(): value for key, value in metadata.items()}
    return _first(folded, _DATES), _first(folded, _PEOPLE)


def _first(folded: Mapping[str, MetadataValue], names: Iterable[str]) -> str:
    """The first that says something; what a list says, one after the other."""
    texts = (_text(folded.get(name)) for name in names)
    return next(filter(None, texts), "")


def _text(value: MetadataValue) -> str:
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return "" if value is None else " ".join(str(value).split())
