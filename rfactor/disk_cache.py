"""Keep what took long to find on disk: small files by digest, each checked before it is believed.

They lie in `~/.cache/rfactor/loops` (`XDG_CACHE_HOME` moves it). `RFACTOR_CACHE=0` turns it off, and so does `CI=true`
unless `RFACTOR_CACHE=1` is said too. A file that is damaged, cut short, of another version or of another user is taken
for one that is not there.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from rfactor import __version__
from rfactor.errors import FileError
from rfactor.files import write_whole

_MAGIC = b"rfactor1"
_MOST = 4096
"""Files that are kept of each kind; those that were read or written longest ago go first."""


def enabled() -> bool:
    """Tell if anything is read from disk, or written to it."""
    asked = os.environ.get("RFACTOR_CACHE", "")
    if asked:
        return asked.lower() not in ("0", "false", "no", "off")
    return os.environ.get("CI", "").lower() not in ("1", "true", "yes")


def folder() -> Path:
    """Give the folder of all kinds."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "rfactor" / "loops"


def key_of(*parts: str) -> str:
    """Make the key of what depends on these texts, and on the version of rfactor."""
    digest = hashlib.sha256()
    for part in (__version__, *parts):
        data = part.encode()
        digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()


def read(kind: str, key: str) -> bytes | None:
    """Read what was written under a key; None where there is nothing that can be believed."""
    if not enabled():
        return None
    path = _path(kind, key)
    try:
        with path.open("rb") as file:
            if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
                return None
            content = file.read()
    except OSError:
        return None
    head, digest, data = content[:8], content[8:40], content[40:]
    if head != _MAGIC or digest != _digest(key, data):
        return None
    return data


def write(kind: str, key: str, data: bytes) -> None:
    """Write a value under a key, whole or not at all; where the disk takes nothing, nothing is kept."""
    if not enabled():
        return
    path = _path(kind, key)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, _MAGIC + _digest(key, data) + data)
        if int(key[:2], 16) < 4:
            _prune(path.parent)
    except (OSError, FileError):
        return


def _digest(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + data).digest()


def _path(kind: str, key: str) -> Path:
    return folder() / kind / key


def _prune(place: Path) -> None:
    files = [p for p in place.iterdir() if not p.name.startswith(".")]
    if len(files) > _MOST:
        for path in sorted(files, key=lambda p: p.stat().st_mtime)[: len(files) - _MOST]:
            path.unlink(missing_ok=True)


__all__ = ["enabled", "folder", "key_of", "read", "write"]
