"""Checkpoints: the progress of a long run in one file beside its output, so that a killed run can resume.

A checkpoint is a zip file of numpy arrays with its digest behind it, complete or not there; reading one checks owner,
mode and digest, and unpickles nothing. It lies beside the hidden partial folder of the run's output
(``formats.place.locks``).
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.trust import is_own
from rayplay.formats.place.locks import CHECKPOINT, Claim, companion, left_over, remove_left_overs, remove_partial
from rayplay.formats.place.publish import make_partial_folder

FACTS, SAME = "facts", "same"
DIGEST_BYTES, PIECE_BYTES = 32, 1 << 20


class Checkpoint(NamedTuple):
    """facts: JSON values. arrays: numbers and strings by name."""

    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Checkpoints:
    """The checkpoints of a run that writes ``final``; use it in a ``with`` statement.

    same      JSON values that must be equal for a run to resume: inputs, arguments, version of the code.
    resume    True: resume a killed run's part of ``final``; False: remove left-overs.
    seconds   time between two checkpoints.

    ``folder`` is the run's partial folder, which it may publish, and ``resumed`` what the last checkpoint of a killed
    run holds; None: begin at the beginning. At the end folder and checkpoint are removed, but after Ctrl-C and when
    the disk is full they stay, to be resumed.
    """

    def __init__(self, final: Path, same: Any, resume: bool, seconds: float) -> None:
        self.final, self.seconds = final, seconds
        self._same = json.loads(json.dumps(same))
        self._resume = resume
        self.resumed: Checkpoint | None = None
        self._warned = False

    def __enter__(self) -> "Checkpoints":
        self._claim = (self._left_over() if self._resume else None) or make_partial_folder(self.final)
        self._since = time.monotonic()
        return self

    @property
    def folder(self) -> Path:
        """The partial folder."""
        return self._claim.path

    @property
    def are_due(self) -> bool:
        """Whether the last checkpoint is at least ``seconds`` old."""
        return time.monotonic() - self._since >= self.seconds

    def save(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Replace the checkpoint; where the disk does not take it, warn once and keep the one before.

        A checkpoint is only a help, and what it is for may well fit the disk: other files may be gone by then.
        """
        try:
            save_checkpoint(self.folder, {**facts, SAME: self._same}, arrays)
        except OSError as error:
            if not self._warned:
                reason = error.strerror or error
                print(
                    f"warning: {self.final}: no checkpoint could be written: {reason}; going on without",
                    file=sys.stderr,
                )
            self._warned = True
        self._since = time.monotonic()

    def forget(self) -> None:
        """Remove the checkpoint."""
        companion(self.folder, CHECKPOINT).unlink(missing_ok=True)

    def standing(self, where: str) -> str:
        """Line that names the point from which a run resumes."""
        if self.resumed is None:
            return f"{self.final}: no run of the same inputs and code was interrupted; beginning at the beginning"
        return f"{self.final}: going on {where}"

    def __exit__(self, *_: object) -> None:
        interrupted = isinstance(sys.exception(), (KeyboardInterrupt, OSError))
        with self._claim:
            if interrupted and companion(self.folder, CHECKPOINT).exists():
                print(f"{self.final}: --resume goes on from the last checkpoint", file=sys.stderr)
            else:
                remove_partial(self.folder)

    def _left_over(self) -> Claim | None:
        """Latest left-over of a killed run that can be resumed; the others are removed."""
        mine = None
        for claim in left_over(self.final):
            found = load_checkpoint(claim.path)
            if mine is None and found is not None and found.facts.get(SAME) == self._same:
                mine, self.resumed = claim, found
            else:
                claim.release()
        if mine is not None:
            remove_left_overs(self.final)  # the others: this one is held
        return mine


def save_checkpoint(partial: Path, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Replace the checkpoint of a partial folder, in one step."""
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    fresh = partial / "checkpoint.new"
    try:
        with open(os.open(fresh, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600), "w+b") as file:
            numbers = {name: plain(array) for name, array in arrays.items()}
            np.savez(file, allow_pickle=False, **{FACTS: text}, **numbers)
            file.write(_digest(file, file.seek(0, os.SEEK_END)))
        os.replace(fresh, companion(partial, CHECKPOINT))
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def load_checkpoint(partial: Path) -> Checkpoint | None:
    """Checkpoint of a partial folder; None when it is missing, was changed, or others may write it."""
    path = companion(partial, CHECKPOINT)
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END) - DIGEST_BYTES
            if size < 0 or not is_own(path) or _digest(file, size) != file.read():
                return None
            file.seek(0)
            with np.load(file, allow_pickle=False) as held:
                arrays = {name: held[name] for name in held.files}
    except (OSError, MemoryError):
        return None
    facts = json.loads(arrays.pop(FACTS).tobytes())
    return Checkpoint(facts, {name: as_objects(array) for name, array in arrays.items()})


def _digest(file: BinaryIO, size: int) -> bytes:
    """Digest of the first ``size`` bytes, behind which the file stands then."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    file.seek(0)
    while size:
        piece = file.read(min(size, PIECE_BYTES))
        digest.update(piece)
        size -= len(piece)
    return digest.digest()


def take_back(array: np.ndarray, held: np.ndarray, name: str) -> None:
    """Write what a checkpoint held over ``array``; ``FormatError`` unless shape and dtype are the same."""
    if (held.shape, held.dtype) != (array.shape, array.dtype):
        raise FormatError(
            f"checkpoint: {name} must be {array.dtype}{list(array.shape)}, but is {held.dtype}{list(held.shape)}"
        )
    array[...] = held


def plain(array: np.ndarray) -> np.ndarray:
    """Strings as numpy's own; numbers as they are."""
    return array.astype(np.str_) if array.dtype == object else array


def as_objects(array: np.ndarray) -> np.ndarray:
    """Strings as Python's; numbers as they are."""
    return array.astype(object) if array.dtype.kind == "U" else array
