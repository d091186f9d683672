"""The programs in examples/, loaded with the language of a module's name, and the images that they are run on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import skimage.data

FOLDER = Path(__file__).parents[2] / "examples"
IMPORT = "import rfactor as hl\n"


def load(name: str, language: str = "rfactor") -> dict[str, Any]:
    """The names that a program defines, with its import line changed and nothing else."""
    source = (FOLDER / f"{name}.py").read_text()
    assert source.count(IMPORT) == 1
    names: dict[str, Any] = {"__name__": name}
    exec(compile(source.replace(IMPORT, f"import {language} as hl\n"), f"{name}.py", "exec"), names)
    return names


def piece(image: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The middle of an image; beyond its ends it begins again."""
    y, x = (
        (np.arange(wanted) + (size - wanted) // 2) % size
        for size, wanted in zip(image.shape[:2], (rows, columns), strict=True)
    )
    return np.ascontiguousarray(image[np.ix_(y, x)])


def gray(rows: int = 150, columns: int = 203) -> np.ndarray:
    """A piece of a photograph, u8."""
    return piece(skimage.data.camera(), rows, columns)


def colours(rows: int = 150, columns: int = 203) -> np.ndarray:
    """A piece of a photograph, f32 from 0 to 1, channels by height by width."""
    image = piece(skimage.data.astronaut(), rows, columns).astype(np.float32) / 255
    return np.ascontiguousarray(image.transpose(2, 0, 1))


def disc(rows: int, columns: int) -> np.ndarray:
    """A level set: the distance to a circle, positive inside."""
    y, x = np.indices((rows, columns), np.float32)
    return (min(rows, columns) / 3 - np.hypot(y - rows / 2, x - columns / 2)).astype(np.float32)


def inputs(name: str, rows: int = 150, columns: int = 203) -> tuple[np.ndarray, ...]:
    """What the program `name` is run on, of about that size."""
    random = np.random.default_rng(1)
    if name == "blur":
        return (gray(rows, columns).astype(np.uint16) * 257 // 4,)
    if name == "equalize":
        return (gray(rows, columns),)
    if name in ("unsharp", "harris"):
        return (colours(rows, columns),)
    if name == "bilateral_grid":
        return (gray(rows, columns).astype(np.float32) / 255,)
    if name == "local_laplacian":
        return ((colours(rows, columns) * 65535).astype(np.uint16),)
    if name == "camera":
        image = piece(skimage.data.astronaut(), rows, columns).astype(np.uint16) * 4
        y, x = np.indices((rows, columns))
        raw = np.take_along_axis(image, np.array([[1, 0], [2, 1]])[y % 2, x % 2][..., None], 2)[..., 0]
        raw[rows // 2, columns // 2] = 1023
        return (np.ascontiguousarray(raw),)
    if name == "level_set":
        return gray(rows, columns), disc(rows, columns)
    if name == "matrix_product":
        depth = (rows + columns) // 2
        shapes = ((rows, depth), (depth, columns))
        a, b = (random.integers(-(2**31), 2**31, shape, dtype=np.int64).astype(np.int32) for shape in shapes)
        return a, b
    raise KeyError(name)


PROGRAMS = (
    "blur",
    "unsharp",
    "equalize",
    "harris",
    "matrix_product",
    "bilateral_grid",
    "level_set",
    "local_laplacian",
    "camera",
)
INTEGERS = frozenset(["blur", "equalize", "matrix_product", "camera"])
"""Programs that compute with integers alone."""


def run(name: str, given: tuple[np.ndarray, ...], scheduled: bool, language: str = "rfactor") -> np.ndarray:
    """The answer of a program."""
    function, sizes = load(name, language)["build"](*given, scheduled=scheduled)
    return np.array(function.realize(sizes))
