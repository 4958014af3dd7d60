"""Pictures without what else their files say: a list of what stays, and a module for each kind of file."""
