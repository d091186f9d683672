"""Images in files: planes in memory, channels together in files, and the same pixels back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rfactor as hl
import rfactor.imageio


def test_colours_are_planes_in_memory_and_together_in_files(tmp_path: Path) -> None:
    pytest.importorskip("imageio")
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    file = tmp_path / "a.png"
    hl.imageio.imwrite(file, pixels)
    planes = hl.imageio.imread(file)
    assert np.array_equal(planes, np.moveaxis(pixels, 2, 0))
    image = hl.Buffer(planes)
    assert (image.width(), image.height(), image.channels()) == (7, 5, 3)
    x, y, c, f = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Func("f")
    f[x, y, c] = 255 - image[x, y, c]
    hl.imageio.imwrite(file, f.realize([7, 5, 3]))
    assert np.array_equal(hl.imageio.imread(file), 255 - planes)


def test_grey_images_stay_as_they_are(tmp_path: Path) -> None:
    pytest.importorskip("imageio")
    pixels = np.arange(35, dtype=np.uint8).reshape(5, 7)
    hl.imageio.imwrite(tmp_path / "a.png", pixels)
    assert np.array_equal(hl.imageio.imread(tmp_path / "a.png"), pixels)


def test_the_layout_is_told_by_the_last_axis() -> None:
    interleaved, planar = np.zeros((5, 7, 3), np.uint8), np.zeros((3, 5, 7), np.uint8)
    assert rfactor.imageio.is_interleaved(interleaved)
    assert not rfactor.imageio.is_interleaved(planar)
    assert not rfactor.imageio.is_interleaved(np.zeros((5, 7), np.uint8))
    assert rfactor.imageio.copy_to_planar(interleaved).shape == (3, 5, 7)
    assert rfactor.imageio.copy_to_interleaved(planar).shape == (5, 7, 3)
    assert rfactor.imageio.copy_to_interleaved(hl.Buffer(planar)).shape == (5, 7, 3)
