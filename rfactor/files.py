"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from rfactor.errors import FileError


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file beside its place and put it there: what was there stays until all of it is on the disk.

    A text is written in UTF-8. Devices and pipes are written as they are; a link stays one. Raises `FileError`, in
    one line, where the file cannot be written.
    """
    path = Path(path)
    data = content if isinstance(content, bytes) else content.encode()
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a folder is refused here
            return
        place = Path(os.path.realpath(path))
        part = place.with_name(f".{place.name[:200]}.{os.getpid()}.{threading.get_ident()}.part")
        try:
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if place.exists():
                part.chmod(place.stat().st_mode & 0o7777)
                if not os.access(place, os.W_OK):
                    raise PermissionError(13, "it may not be written")
            part.replace(place)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        raise FileError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from None


__all__ = ["write_whole"]
