"""Programs by their functions and classes, as tree-sitter's grammars tell them: their text stays as it is."""
