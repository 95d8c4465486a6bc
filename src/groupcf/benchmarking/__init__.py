"""Efficiency targets in benchmarking (models.md section 6); nothing of it is in this version."""
