"""Spaces of pictures, each with its model."""
