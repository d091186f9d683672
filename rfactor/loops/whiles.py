"""Steps of `while` loops that walk an index."""
from __future__ import annotations
from typing import Any
def while_frame(at: Any) -> Any:
    raise at.no("a while loop that is no walk over an index", at.loop.node, "R4", "write it as a for loop")
