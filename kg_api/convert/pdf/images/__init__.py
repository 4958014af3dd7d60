"""Raster pictures of a PDF: found on its pages, chosen, drawn, and put between its paragraphs."""
