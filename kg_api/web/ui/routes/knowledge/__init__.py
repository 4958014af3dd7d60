"""Pages of what kg knows: concepts, communities, proposed links."""
