"""groupcf.exact."""
