"""HTML pages: their content as Markdown, without what every page of a site repeats."""

from kg_api.convert.html.page import convert

__all__ = ["convert"]
