"""Searching for pictures."""
