"""Random loops: a grammar after the corpus, data with extremes, comparison with plain Python, smaller faults."""
