"""Loops in plain Python, and what judges a faster form of them: a corpus, wild functions, random programs."""
