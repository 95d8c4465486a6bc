"""Reference formulations in Pyomo, which any solver may take (one file a model)."""
