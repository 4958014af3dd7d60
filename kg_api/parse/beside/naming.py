"""Which pictures a file names: read in the encoding in which its text is read."""

from __future__ import annotations

from kg_api.errors import KgError
from kg_api.models.library.formats import Format
from kg_api.parse import declared
from kg_api.parse.beside.references import references
from kg_api.parse.decode import decode


def references_of(content: bytes, form: Format) -> tuple[str, ...]:
    """The keys of the pictures that a file names; none, where it cannot be read."""
    if form not in {"markdown", "html"}:
        return ()
    try:
        text, _ = (
            declared.decode(content, declared.declared_encoding(content))
            if form == "html"
            else decode(content)
        )
    except KgError:
        return ()
    return references(text, form)
