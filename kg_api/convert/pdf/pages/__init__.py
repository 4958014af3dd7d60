"""Pages of PDFs as pictures for people, with words marked where they stand."""
