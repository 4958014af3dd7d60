"""Routes of pages by subject."""
