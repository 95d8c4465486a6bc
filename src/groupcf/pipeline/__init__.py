"""groupcf.pipeline."""
