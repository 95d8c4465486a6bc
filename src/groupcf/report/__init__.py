"""Figures, tables, sentences and the HTML page, from records alone."""
