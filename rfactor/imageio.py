"""Images from files and to files, by the `imageio` package: planes in memory, as `Buffer` and code like them.

An array (channels, height, width) is a `Buffer` of width, height and channels; files hold (height, width, channels).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST_CHANNELS = 4


def is_interleaved(im: Any) -> bool:
    """Whether it is an array (height, width, channels) of 1 to 4 channels that lie together in memory."""
    array = np.asarray(im)
    return array.ndim == 3 and 1 <= array.shape[2] <= _MOST_CHANNELS and array.strides[2] in (1, array.itemsize)


def copy_to_interleaved(im: Any) -> NDArray[Any]:
    """A copy as (height, width, channels) of an array (channels, height, width); any other array as it is."""
    array = np.asarray(im)
    if array.ndim != 3 or is_interleaved(array):
        return array
    return np.moveaxis(array, 0, 2).copy()


def copy_to_planar(im: Any) -> NDArray[Any]:
    """A copy as (channels, height, width) of an array (height, width, channels); any other array as it is."""
    array = np.asarray(im)
    return np.moveaxis(array, 2, 0).copy() if is_interleaved(array) else array


def imread(uri: Any, format: str | None = None, **options: Any) -> NDArray[Any]:
    """The image in a file, colours as planes: (channels, height, width), or (height, width) where there is one."""
    return copy_to_planar(_files().imread(uri, format, **options))


def imwrite(uri: Any, im: Any, format: str | None = None, **options: Any) -> None:
    """Write an array or a `Buffer` to a file."""
    _files().imwrite(uri, copy_to_interleaved(im), format, **options)


def _files() -> Any:
    try:
        import imageio.v2
    except ImportError as error:
        raise ImportError("images in files are read by the imageio package: pip install imageio") from error
    return imageio.v2
