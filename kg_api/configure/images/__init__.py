"""Spaces of pictures as they are chosen: built beside, checked, activated."""
