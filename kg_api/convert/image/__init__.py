"""Pictures: what they are by their content, what they say of themselves, and how they look."""
