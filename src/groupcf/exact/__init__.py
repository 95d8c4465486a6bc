"""Exact methods that use a problem's structure (one file a method)."""
