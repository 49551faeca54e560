"""Every version that was ever written is read; newer ones where that is safe, else they are refused with advice."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from rayplay.formats.dataset.profile import PROFILE
from rayplay.formats.dataset.reader import Dataset, open_trace
from rayplay.formats.dataset.result import RESULT
from rayplay.formats.edit.convert import convert
from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.errors import FormatError, VersionTooNew, VersionTooOld
from rayplay.formats.laws.check import validate
from rayplay.formats.look.show import open_any
from rayplay.formats.parquet.arrow import array_names
from rayplay.formats.schema.column import Format
from rayplay.formats.schema.manifest import MANIFEST, digest_of
from rayplay.formats.schema.prediction import PREDICTION
from rayplay.formats.schema.trace import TRACE
from rayplay.formats.testing.generate import make_trace

SAMPLES = Path(__file__).resolve().parents[2] / "data"
EXPECTED = json.loads((SAMPLES / "versions.json").read_text())


def values_digest(dataset: Dataset) -> str:
    """SHA-256 of every value of every table, whatever the container."""
    digest = hashlib.sha256()
    for name in dataset.tables:
        columns = dataset.read(name)
        for column in array_names(dataset.layout.table(name).columns):
            digest.update(f"{name}.{column}".encode())
            values = columns[column]
            digest.update(json.dumps(values.tolist()).encode() if values.dtype == object else values.tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("name", EXPECTED)
def test_every_version_is_read(name: str) -> None:
    sample = open_any(SAMPLES / name)
    assert list(sample.manifest.version) == EXPECTED[name]["version"]
    assert validate(sample) == []
    assert values_digest(sample) == EXPECTED[name]["values"], "a frozen sample is never written again"


@pytest.mark.parametrize("layout", [TRACE, RESULT, PREDICTION, PROFILE], ids=lambda layout: layout.name)
def test_the_present_version_has_a_sample(layout: Format) -> None:
    kind = layout.name.removeprefix("rayplay ")
    assert "version-{}.{}.{}".format(*layout.version, kind) in EXPECTED


def test_the_version_is_in_every_file(tmp_path: Path) -> None:
    trace = make_trace(tmp_path / "a.trace")
    for file in trace.glob("*.parquet"):
        label = pq.read_metadata(file).metadata
        assert label == {
            b"rayplay.format": b"rayplay trace",
            b"rayplay.version": "{}.{}".format(*TRACE.version).encode(),
        }
    assert json.loads((trace / MANIFEST).read_text())["version"] == list(TRACE.version)
    convert(open_trace(trace), tmp_path / "a.trace.h5")
    import h5py

    with h5py.File(tmp_path / "a.trace.h5") as file:
        assert (file.attrs["format"], file.attrs["version"].tolist()) == (b"rayplay trace", list(TRACE.version))


def edit_manifest(trace: Path, **changes: object) -> None:
    """Change the manifest, and its digest with it."""
    document = json.loads((trace / MANIFEST).read_text()) | changes
    document["digest"] = digest_of(document)
    (trace / MANIFEST).write_text(json.dumps(document))


def test_a_newer_minor_version_is_read_without_what_is_unknown(tmp_path: Path) -> None:
    trace = make_trace(tmp_path / "a.trace")
    before = values_digest(open_trace(trace))
    file = trace / "visits-00000.parquet"
    visits = pq.read_table(file)
    pq.write_table(visits.append_column("mood", [["calm"] * len(visits)]), file)
    tables = json.loads((trace / MANIFEST).read_text())["tables"]
    entry = tables["visits"][0] | {"bytes": file.stat().st_size, "sha256": file_digest(file)}
    shutil.copy(file, trace / "moods-00000.parquet")
    tables |= {"visits": [entry], "moods": [entry | {"file": "moods-00000.parquet"}]}
    edit_manifest(trace, version=[TRACE.version[0], TRACE.version[1] + 1], tables=tables, mood="calm")
    assert values_digest(open_trace(trace)) == before
    assert validate(open_trace(trace)) == []
    edit_manifest(trace, version=list(TRACE.version))
    with pytest.raises(FormatError):
        open_trace(trace)


def test_another_major_version_is_refused_with_advice(tmp_path: Path) -> None:
    trace = make_trace(tmp_path / "a.trace")
    edit_manifest(trace, version=[TRACE.version[0] + 1, 0])
    with pytest.raises(VersionTooNew, match=r"version must be 1.x, not 2.0: a newer Rayplay reads it"):
        open_trace(trace)
    edit_manifest(trace, version=[TRACE.version[0] - 1, 9])
    with pytest.raises(VersionTooOld, match=r"version must be 1.x, not 0.9: write it again"):
        open_trace(trace)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"format": np.bytes_(b"rayplay result")}, "must be a file of a rayplay trace, not of 'rayplay result'"),
        ({"format": "rayplay result"}, "must be a file of a rayplay trace, not of 'rayplay result'"),
        ({"format": 7}, "attribute format must be a text, not '7'"),
        ({"version": [2, 0]}, "version must be 1.x, not '2.0'"),
        ({"version": np.arange(1000)}, "attribute version must be two whole numbers, not "),
        ({"version": [1.0, 0.0]}, "attribute version must be two whole numbers, not "),
        ({"format": "rayplay trace", "version": "1.7"}, None),
        ({}, None),
    ],
)
def test_the_attributes_of_hdf5_must_fit_if_they_are_there(
    tmp_path: Path, attributes: dict[str, object], message: str | None
) -> None:
    import h5py

    convert(open_trace(make_trace(tmp_path / "a.trace")), tmp_path / "a.trace.h5")
    with h5py.File(tmp_path / "a.trace.h5", "r+") as file:
        for name in list(file.attrs):
            del file.attrs[name]
        for name, value in attributes.items():
            file.attrs[name] = value
    if message is None:
        assert values_digest(open_trace(tmp_path / "a.trace.h5")) == values_digest(open_trace(tmp_path / "a.trace"))
        return
    with pytest.raises(FormatError, match=message):
        open_trace(tmp_path / "a.trace.h5")


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [
        ("rayplay result", "1.0", "must be a file of a rayplay trace, not of 'rayplay result'"),
        ("rayplay trace", "2.0", "version must be 1.x, not '2.0'"),
        ("rayplay trace", "one", "version must be 1.x, not 'one'"),
    ],
)
def test_a_file_of_another_format_or_version_is_refused(tmp_path: Path, name: str, version: str, message: str) -> None:
    trace = make_trace(tmp_path / "a.trace")
    file = trace / "visits-00000.parquet"
    pq.write_table(
        pq.read_table(file).replace_schema_metadata({"rayplay.format": name, "rayplay.version": version}), file
    )
    tables = json.loads((trace / MANIFEST).read_text())["tables"]
    tables["visits"][0] |= {"bytes": file.stat().st_size, "sha256": file_digest(file)}
    edit_manifest(trace, tables=tables)
    with pytest.raises(FormatError, match=message):
        open_trace(trace).read("visits")
