"""Word documents: their text as Word shows it, as Markdown."""

from kg_api.convert.docx.document import convert

__all__ = ["convert"]
