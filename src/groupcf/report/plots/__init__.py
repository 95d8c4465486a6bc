"""Plots, one a module: each takes data and optional axes, and returns the axes."""
