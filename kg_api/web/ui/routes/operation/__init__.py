"""Pages of running kg: jobs, keys, signing in."""
