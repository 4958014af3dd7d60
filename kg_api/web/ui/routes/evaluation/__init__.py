"""Pages of how good the answers are: what people judge, and what was measured."""
