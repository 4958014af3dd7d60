"""Conversion of HTML pages to Markdown, without the repeated parts of a site."""

from kg_api.convert.html.page import convert

__all__ = ["convert"]
