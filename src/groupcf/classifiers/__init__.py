"""groupcf.classifiers."""
