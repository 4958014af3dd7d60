"""Images: formats, metadata, and pixels."""
