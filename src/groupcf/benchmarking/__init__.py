"""groupcf.benchmarking."""
