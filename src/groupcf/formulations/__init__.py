"""groupcf.formulations."""
