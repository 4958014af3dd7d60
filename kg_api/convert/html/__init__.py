"""HTML pages: their content as Markdown, without what every page of a site repeats."""

from kg_api.convert.html.page import convert, write_page

__all__ = ["convert", "write_page"]
