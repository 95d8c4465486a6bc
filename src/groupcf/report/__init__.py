"""groupcf.report."""
