"""Objects of the user's cache under a keyed digest, which only this user's Rayplay can make.

They lie in ``sealed`` of the cache, mode 0700, with the key. The digest covers an object's name and bytes, so that a
flipped bit, a cut and an object under another's name are all seen before a byte is used. A damaged object is as good as
missing, and one line names it. Where the folder cannot be trusted or used there is no cache, and one line says so.
"""

import hashlib
import hmac
import os
import secrets
import shutil
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from rayplay.formats.guard.trust import cache_root, own_folder

MAGIC = b"rayplay sealed 1"
KEY_BYTES = TAG_BYTES = 32
KEY = "key"
Part = bytes | bytearray | memoryview


def sealed_root() -> Path:
    """The folder of all objects."""
    return cache_root() / "sealed"


def load(name: str) -> bytes | None:
    """Bytes of the object ``name``, a relative path; None when it is missing or was changed."""
    data = load_writable(name)
    return None if data is None else bytes(data)


def load_writable(name: str) -> bytearray | None:
    """``load`` of a large object, in memory that its user may change."""
    folder, key = _opened(sealed_root())
    if key is None:
        return None
    try:
        with open(folder / name, "rb") as file:
            head = file.read(len(MAGIC) + TAG_BYTES)
            data = bytearray(max(os.fstat(file.fileno()).st_size - len(head), 0))
            file.readinto(data)
    except OSError:
        return None
    if hmac.compare_digest(head, MAGIC + _tag(key, name, data)):
        return data
    print(f"warning: {folder / name}: is damaged; it is made again", file=sys.stderr)
    return None


def holds(name: str) -> bool:
    """Whether there is an object ``name``; ``load`` may still find it damaged."""
    folder, key = _opened(sealed_root())
    return key is not None and (folder / name).is_file()


def keep(name: str, *parts: Part) -> None:
    """Seal the parts as the object ``name``, whole or not at all; a full disk only costs the cache."""
    folder, key = _opened(sealed_root())
    if key is None:
        return
    path = folder / name
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = _written(path.parent, MAGIC + _tag(key, name, *parts), *parts)
        try:
            os.replace(partial, path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
    except OSError as error:
        _without(folder, error.strerror or str(error))


def trim(name: str, most: int) -> None:
    """Remove objects of the folder ``name``, the oldest first, until they take at most ``most`` bytes."""
    folder, key = _opened(sealed_root())
    if key is None:
        return
    found = []
    for path in (folder / name).glob("*"):
        with suppress(OSError):  # another process may remove it
            found.append((path.stat().st_mtime_ns, path.name, path.stat().st_size))
    left = sum(size for _, _, size in found)
    for _, old, size in sorted(found):
        if left <= most:
            break
        with suppress(OSError):
            (folder / name / old).unlink()
        left -= size


@cache
def _opened(root: Path) -> tuple[Path, bytes | None]:
    """The folder and its key; None, after one line, where there can be no cache."""
    try:
        folder = own_folder(root)
        folder.chmod(0o700)
        found = _key(folder)
        if found is None:
            print(
                f"warning: {folder / KEY}: is damaged; all compiled code and facts of traces are made again",
                file=sys.stderr,
            )
            shutil.rmtree(folder)
            found = _key(own_folder(root))
        return folder, found
    except OSError as error:
        _without(root, error.strerror or str(error))
        return root, None


@cache
def _without(folder: Path, reason: str) -> None:
    print(
        f"warning: {folder}: compiled code and facts of traces cannot be kept: {reason};"
        " RAYPLAY_CACHE names another folder",
        file=sys.stderr,
    )


def _key(folder: Path) -> bytes | None:
    """The key of the folder, made where it is missing; None when it was changed."""
    path = folder / KEY
    if not path.exists():
        key = secrets.token_bytes(KEY_BYTES)
        made = _written(folder, key + hashlib.sha256(key).digest())
        try:
            os.link(made, path)
        except FileExistsError:
            pass  # another process was first
        finally:
            made.unlink()
        sync_folder(folder)
    data = path.read_bytes()
    key = data[:KEY_BYTES]
    return key if data == key + hashlib.sha256(key).digest() and len(key) == KEY_BYTES else None


def _tag(key: bytes, name: str, *parts: Part) -> bytes:
    digest = hashlib.blake2b(name.encode() + b"\0", key=key, digest_size=TAG_BYTES)
    for part in parts:
        digest.update(part)
    return digest.digest()


def _written(folder: Path, *parts: Part) -> Path:
    """A file of mode 0600 with these bytes on the disk, under a hidden name."""
    handle, name = tempfile.mkstemp(prefix=".", dir=folder)
    try:
        with open(handle, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(handle)
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)


def sync_folder(folder: Path) -> None:
    """Wait until the names in the folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
