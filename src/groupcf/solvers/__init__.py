"""groupcf.solvers."""
