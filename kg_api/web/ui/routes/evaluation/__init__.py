"""Pages of evaluations: what was measured, and how runs compare."""
