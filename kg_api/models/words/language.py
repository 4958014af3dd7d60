"""The language of an ontology's texts, for full text."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from kg_api.models.base import Answer, Body
from kg_api.models.vocabulary import TextLanguage

LANGUAGE_NAMES: Final = MappingProxyType(
    {
        "ar": "arabic",
        "ca": "catalan",
        "cs": "czech",
        "da": "danish",
        "de": "german",
        "el": "greek",
        "en": "english",
        "es": "spanish",
        "fa": "persian",
        "fi": "finnish",
        "fr": "french",
        "hi": "hindi",
        "hu": "hungarian",
        "id": "indonesian",
        "it": "italian",
        "nl": "dutch",
        "no": "norwegian",
        "pl": "polish",
        "pt": "portuguese",
        "ro": "romanian",
        "ru": "russian",
        "sv": "swedish",
        "tr": "turkish",
    }
)
"""The names that stemmers and lists of stop words have, by ISO 639-1; those for which there are both."""


class LanguageChoice(Body):
    """How the forms of words are found."""

    language: TextLanguage
    """`auto`: told by each text, for nine languages; or the one that all texts of the ontology are in."""


class OntologyLanguage(Answer):
    """In which language an ontology's texts are indexed."""

    ontology: str
    language: TextLanguage
    complete: bool
    """Whether all sources are indexed so; if not, the same request goes on with it."""
    indexed: int = 0
    """Sources that this request looked at, and indexed anew where that changes anything."""
