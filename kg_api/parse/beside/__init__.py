"""Pictures that a document names and that lie beside it as files."""
