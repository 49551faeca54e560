"""Subjects of damage: for each kind of file a valid specimen and its public reader."""

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Dataset, open_trace
from rayplay.formats.dataset.result import Result, open_result
from rayplay.formats.edit.convert import convert
from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.errors import UserError
from rayplay.formats.parquet.arrow import row_count
from rayplay.formats.schema.manifest import MANIFEST, digest_of
from rayplay.formats.testing.generate import make_trace
from tests.reliability import specimens
from tests.reliability.mutate import other_value

ROOT = Path(__file__).resolve().parents[2]
Read = Callable[[Path], str]


@dataclass(frozen=True)
class Subject:
    """One kind of file.

    make    (empty folder) -> the files that may be damaged, each whole; called again for each process.
    read    (a file of ``make``) -> a digest of all that was read of it, by the public way; raises ``UserError`` to
            refuse, and ``AssertionError`` when what it accepted is not valid.
    exact   True: reading gives the written data or an error. False: a text in which a change may mean something else
            that is valid too; then ``read`` has asserted that it is.
    is_text   True: changes of numbers, lines and words beside changes of bytes.
    damage  (data, chance) -> damaged data, in place of changes of bytes or text.
    publish   (file, damaged bytes) puts them in place; a manifest with lengths then states the damaged lengths.
    """

    make: Callable[[Path], list[Path]]
    read: Read
    exact: bool
    is_text: bool = False
    publish: Callable[[Path, bytes], object] = Path.write_bytes
    damage: Callable[[bytes, random.Random], bytes] | None = None


def digest(value: Any) -> str:
    """SHA-256 of arrays, texts, tuples and mappings."""
    state = hashlib.sha256()

    def add(part: Any) -> None:
        if isinstance(part, np.ndarray) and part.dtype != object:
            state.update(str((part.dtype, part.shape)).encode() + part.tobytes())
        elif isinstance(part, dict):
            for key in sorted(part):
                add(str(key))
                add(part[key])
        elif isinstance(part, (list, tuple)) or (isinstance(part, np.ndarray) and part.dtype == object):
            state.update(f"[{len(part)}]".encode())
            for item in part:
                add(item)
        else:
            state.update(repr(part).encode())

    add(value)
    return state.hexdigest()


def of_dataset(dataset: Dataset, tables: list[str] | None = None) -> str:
    """Digest of the tables of a trace or result."""
    return digest({name: dataset.read(name) for name in tables or dataset.tables})


def make_parquet(folder: Path) -> list[Path]:
    """A trace with every table."""
    return sorted(make_trace(folder / "a.trace", seed=5, image_size=(20, 3), ctas=1).glob("*.parquet"))


def agreeing(file: Path, data: bytes) -> None:
    """Damage whose length the manifest gives: what remains to find it are the checksums of the pages."""
    file.write_bytes(data)
    if file.suffix != ".parquet":
        return
    document = json.loads((file.parent / MANIFEST).read_text())
    for entries in document["tables"].values():
        for entry in entries:
            if entry["file"] == file.name:
                entry["bytes"] = len(data)
    document["digest"] = digest_of(document)
    (file.parent / MANIFEST).write_text(json.dumps(document))


def read_table_of(file: Path) -> str:
    """The table that a Parquet file of a trace holds."""
    return of_dataset(open_trace(file.parent), [file.name.rpartition("-")[0]])


def make_hdf5(folder: Path) -> list[Path]:
    """The same trace in HDF5."""
    make_trace(folder / "a.trace", seed=5, image_size=(20, 3), ctas=1)
    convert(open_trace(folder / "a.trace"), folder / "a.trace.h5")
    shutil.rmtree(folder / "a.trace")
    return [folder / "a.trace.h5"]


def read_manifest_of(file: Path) -> str:
    """The manifest of a trace, and the rows of each table."""
    manifest = open_trace(file.parent).manifest
    values = manifest.provenance, manifest.image_size, manifest.launches, manifest.tables, manifest.version
    return digest([repr(value) for value in values])


def forged(data: bytes, chance: random.Random) -> bytes:
    """A manifest that says something else and has the digest of it, as malice would write it."""
    document = other_value(json.loads(data), chance)
    if isinstance(document, dict):
        document["digest"] = digest_of(document)
    return json.dumps(document).encode()


def read_forged(file: Path) -> str:
    """A trace whose tables have the rows that the manifest says."""
    trace = open_trace(file.parent)
    for name in trace.tables:
        columns = trace.layout.table(name).columns
        assert row_count(columns, trace.read(name)) == trace.rows(name)
    return "valid"


def read_result_of(file: Path) -> str:
    """Everything in a result but the host's times and the lengths of its tables, which ``agreeing`` changes."""
    result: Result = open_result(file.parent)
    for name, wanted in result.manifest.files.items():
        if name != "summary.json" and file_digest(file.parent / name) != wanted:
            raise UserError(f"{file.parent / name}: SHA-256 must be {wanted}")
    return digest([of_dataset(result), result.summary, repr(replace(result.manifest, tables={}))])


def make_result(folder: Path) -> list[Path]:
    """A result with tables, summary and manifest."""
    path = specimens.write_result(folder / "a.result")
    return sorted(file for file in path.iterdir() if file.name != "host.json")


SUBJECTS: dict[str, Subject] = {
    "trace Parquet": Subject(make_parquet, read_table_of, True, publish=agreeing),
    "trace HDF5": Subject(make_hdf5, lambda file: of_dataset(open_trace(file)), True),
    "manifest": Subject(
        lambda folder: [make_trace(folder / "a.trace", seed=5) / MANIFEST], read_manifest_of, True, is_text=True
    ),
    "manifest, signed again": Subject(
        lambda folder: [make_trace(folder / "a.trace", seed=5) / MANIFEST], read_forged, False, damage=forged
    ),
    "result": Subject(make_result, read_result_of, True, publish=agreeing),
    **{name: Subject(*parts) for name, parts in specimens.TEXTS.items()},
}


def chance_of(seed: int, subject: str, number: int) -> random.Random:
    """Random source of a case: the same for the same seed, subject and number, in any process."""
    return random.Random(f"{seed}/{subject}/{number}")
