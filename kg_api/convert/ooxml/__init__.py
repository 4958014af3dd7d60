"""Code for both Word and PowerPoint files: parts, drawings, formulas, charts, diagrams, and numbers."""
