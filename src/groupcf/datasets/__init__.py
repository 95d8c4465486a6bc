"""groupcf.datasets."""
