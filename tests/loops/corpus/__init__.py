"""Loops after those that people write, in own wording: a file a theme, a function a case."""
