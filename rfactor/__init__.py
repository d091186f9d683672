"""rfactor: finds the associative operator hidden in a serial reduction, proves it, and compiles the loop to
parallel vector code that gives the serial answer.

`import rfactor as hl` offers the language (names and meanings of Halide's Python bindings) and `check`. Everything is
imported when first used, so that importing this package costs next to nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"
