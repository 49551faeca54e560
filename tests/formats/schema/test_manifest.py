"""A manifest follows its schema and lists the files present; otherwise an error names the place."""

import json
from pathlib import Path

import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import FormatError, VersionTooNew, VersionTooOld
from rayplay.formats.schema.manifest import MANIFEST, digest_of


def change_manifest(path: Path, **changes: object) -> None:
    """Change the manifest as its own writer would: the digest fits."""
    document = json.loads((path / MANIFEST).read_text()) | changes
    write_manifest(path, document)


def write_manifest(path: Path, document: dict) -> None:
    (path / MANIFEST).write_text(json.dumps(document | {"digest": digest_of(document)}))


def test_every_truncation_of_the_manifest_is_an_error(copy: Path) -> None:
    whole = (copy / MANIFEST).read_bytes().rstrip()
    for length in range(len(whole)):
        (copy / MANIFEST).write_bytes(whole[:length])
        with pytest.raises(FormatError, match=r"manifest\.json"):
            open_trace(copy)


@pytest.mark.parametrize(
    ("version", "error"), [([2, 0], VersionTooNew), ([0, 9], VersionTooOld), ("1", FormatError), ([1], FormatError)]
)
def test_another_version_is_refused(copy: Path, version, error) -> None:
    change_manifest(copy, version=version)
    with pytest.raises(error, match="version must be"):
        open_trace(copy)


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "a/b.parquet", "..", ".", "", "a\0b", "a\\..\\b", "x" * 4096, "file:///x", 7]
)
def test_no_file_name_leaves_the_folder(copy: Path, name) -> None:
    tables = json.loads((copy / MANIFEST).read_text())["tables"]
    tables["visits"][0]["file"] = name
    change_manifest(copy, tables=tables)
    with pytest.raises(FormatError, match="file must be the plain name"):
        open_trace(copy)


def test_a_link_out_of_the_folder_is_refused(copy: Path, tmp_path: Path) -> None:
    file = copy / "visits-00000.parquet"
    outside = tmp_path / "outside.parquet"
    file.rename(outside)
    file.symlink_to(outside)
    with pytest.raises(FormatError, match="must be a file"):
        open_trace(copy)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "rayplay result"}, "format must be 'rayplay trace'"),
        ({"image_size": [0, 4]}, "image_size must be"),
        ({"image_size": [3, True]}, "image_size must be"),
        ({"image_size": [3, 1 << 17]}, "image_size must be"),
        ({"tables": []}, "tables must be an object"),
        ({"tables": {}}, "table kernels, .* is missing; a rayplay trace has at least kernels, "),
        ({"provenance": 3}, "provenance must be an object"),
        ({"launches": {}}, "launches must be a list"),
    ],
)
def test_a_manifest_that_breaks_its_schema_is_refused(copy: Path, changes, message) -> None:
    change_manifest(copy, **changes)
    with pytest.raises(FormatError, match=message):
        open_trace(copy)


@pytest.mark.parametrize(("key", "value"), [("rows", -1), ("rows", "many"), ("bytes", 1.5), ("sha256", "00")])
def test_a_file_entry_that_breaks_its_schema_is_refused(copy: Path, key, value) -> None:
    tables = json.loads((copy / MANIFEST).read_text())["tables"]
    tables["visits"][0][key] = value
    change_manifest(copy, tables=tables)
    with pytest.raises(FormatError, match=f"table visits, file 0: {key} must be"):
        open_trace(copy)


def test_a_digest_in_capitals_is_refused_with_the_reason(copy: Path) -> None:
    tables = json.loads((copy / MANIFEST).read_text())["tables"]
    tables["visits"][0]["sha256"] = tables["visits"][0]["sha256"].upper()
    change_manifest(copy, tables=tables)
    with pytest.raises(FormatError, match=r"sha256 must be 64 lowercase hexadecimal digits, not '[0-9A-F]{64}'"):
        open_trace(copy)


@pytest.mark.parametrize("found", ["0" * 64, 7])
def test_a_changed_manifest_says_which_digest_would_fit(copy: Path, found) -> None:
    document = json.loads((copy / MANIFEST).read_text()) | {"provenance": {"by": "Jürgen"}}
    (copy / MANIFEST).write_text(json.dumps(document | {"digest": found}))
    message = f"digest must be {digest_of(document)}, not {found!r}; leave digest out when editing by hand"
    with pytest.raises(FormatError, match=message):
        open_trace(copy)
    del document["digest"]
    (copy / MANIFEST).write_text(json.dumps(document))
    assert open_trace(copy).manifest.provenance == {"by": "Jürgen"}


def test_rows_must_be_those_of_the_manifest(copy: Path) -> None:
    tables = json.loads((copy / MANIFEST).read_text())["tables"]
    tables["visits"][0]["rows"] += 1
    change_manifest(copy, tables=tables)
    with pytest.raises(FormatError, match=r"must have \d+ rows, as the manifest says"):
        open_trace(copy).read("visits")


def test_a_name_twice_in_a_manifest_is_found(copy: Path) -> None:
    """The last one would count: found by ``make fuzz`` (manifest, seed 1, case 7004)."""
    text = (copy / MANIFEST).read_text()
    (copy / MANIFEST).write_text(text.replace('"name": ', '"name": "other", "name": ', 1))
    with pytest.raises(FormatError, match="must have each name once, but has 'name' again"):
        open_trace(copy)
