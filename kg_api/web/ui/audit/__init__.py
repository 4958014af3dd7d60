"""The audit log, as its page tells it."""
