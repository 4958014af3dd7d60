"""Conversion of Word documents to Markdown, as Word shows them."""

from kg_api.convert.docx.document import convert

__all__ = ["convert"]
