"""Keep the site's files from other users of the machine: patients' data, keys, locks. No Django: settings are made with it."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def new_files_private() -> None:
    """Give the files and folders that this process makes from now on to their owner only."""
    os.umask(_OTHERS)


def keep_private(folder: Path, *, besides: Path) -> None:
    """Take a folder and all in it from everybody but their owner, but for the folder `besides`; what another user owns stays as it is."""
    for path in open_to_others([folder], besides=besides):
        # It may be gone by now, or be another user's: the check tells of what is left.
        with suppress(OSError):
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~_OTHERS)


def open_to_others(paths: Iterable[Path], *, besides: Path) -> Iterator[Path]:
    """Yield each file and folder, those in folders too, that others than its owner may use; nothing in the folder `besides`."""
    for path in paths:
        try:
            found = path.lstat()
            inside = sorted(path.iterdir()) if stat.S_ISDIR(found.st_mode) and path != besides else []
        except OSError:
            continue
        if path == besides or stat.S_ISLNK(found.st_mode):
            continue
        if stat.S_IMODE(found.st_mode) & _OTHERS:
            yield path
        yield from open_to_others(inside, besides=besides)
