"""The user's own folders, and whether another user may write in one.

The XDG base directory specification names them: a relative or empty variable is ignored, a missing folder gets mode
0700.
"""

import errno
import grp
import os
import pwd
import stat
from pathlib import Path

from rayplay.formats.guard.errors import UserError


def cache_root() -> Path:
    """``RAYPLAY_CACHE``, or ``rayplay`` in the user's cache folder.

    Raises ``UserError`` for a relative one: another would be made wherever a command runs.
    """
    chosen = os.environ.get("RAYPLAY_CACHE")
    if chosen and not os.path.isabs(chosen):
        raise UserError(f"RAYPLAY_CACHE: must be the path of a folder from / on, found {chosen!r}")
    return Path(chosen) if chosen else _user_folder("XDG_CACHE_HOME", ".cache")


def state_root() -> Path:
    """``rayplay`` in the folder of the user's state, such as what an interrupted run left."""
    return _user_folder("XDG_STATE_HOME", ".local/state")


def data_root() -> Path:
    """``rayplay`` in the folder of the user's data, such as scenes."""
    return _user_folder("XDG_DATA_HOME", ".local/share")


def _user_folder(variable: str, usual: str) -> Path:
    given = os.environ.get(variable, "")
    found = given if os.path.isabs(given) else os.path.join(os.path.expanduser("~"), usual)
    if not os.path.isabs(found):
        raise UserError(f"{variable}: must name a folder, as this user has no home folder")
    return Path(found) / "rayplay"


def own_folder(path: Path) -> Path:
    """``path`` without links, made where it is missing.

    Raises ``PermissionError`` where another user owns it, may write in it, or may put another in its place.
    """
    whole = Path(os.path.abspath(path))
    for folder in reversed([whole, *whole.parents]):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    real = whole.resolve()
    for folder in (real, *real.parents):
        if (reason := _distrust(folder, folder == real)) is not None:
            raise PermissionError(errno.EPERM, f"folder {folder} {reason}", str(path))
    return real


def is_own(path: Path) -> bool:
    """Whether a file or folder, no link, is this user's and no other may write it."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return found.st_uid == os.geteuid() and not stat.S_ISLNK(found.st_mode) and not _is_shared(found)


def _distrust(folder: Path, is_last: bool) -> str | None:
    """Why another user may write in a folder; names in a folder above, with the sticky bit, are safe."""
    found, me = folder.stat(), os.geteuid()
    if found.st_uid != me and (is_last or found.st_uid != 0):
        return f"belongs to user {found.st_uid}, must belong to {me}"
    if found.st_mode & stat.S_ISVTX and not is_last:
        return None
    if _is_shared(found):
        return f"has mode {stat.S_IMODE(found.st_mode):04o}, others may write in it: chmod go-w"
    return None


def _is_shared(found: os.stat_result) -> bool:
    """Whether a mode lets other users write."""
    return bool(found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and not _is_private(found.st_gid)))


def _is_private(group_id: int) -> bool:
    """Whether a group is the user's own, which many systems make for each user."""
    try:
        group, me = grp.getgrgid(group_id), pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
    return group.gr_name == me and set(group.gr_mem) <= {me}
