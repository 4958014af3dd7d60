"""Pages of questions and what answers them."""
