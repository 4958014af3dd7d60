"""What Word and PowerPoint files share: parts, drawing text, formulas, charts, diagrams, numbers."""
