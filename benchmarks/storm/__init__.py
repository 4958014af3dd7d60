"""A kg whose processes are killed while it is used, and whether all is there at the end."""
