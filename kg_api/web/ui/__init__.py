"""Web UI, which uses the same services as REST."""
