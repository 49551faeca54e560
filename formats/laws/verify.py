"""Integrity of every byte: digests of all files, and the checksums of all readable data."""

from collections.abc import Iterator

from tqdm import tqdm

from rayplay.formats.dataset.reader import Dataset
from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.parquet.source import ParquetSource


def damages(dataset: Dataset) -> Iterator[FormatError]:
    """Every file whose SHA-256 is not the manifest's, and the first place of each table that cannot be read.

    Reads everything once, in bounded memory: page checksums of Parquet, Fletcher-32 sums of HDF5, types and limits.
    """
    for table, file, wanted, found in changed_files(dataset):
        reason = f"SHA-256 must be {wanted}, as the manifest says, not {found}"
        yield FormatError(reason, file=dataset.path / file, table=table)
    for name in tqdm(dataset.tables, desc="verify tables", unit="table", disable=None):
        try:
            for _ in dataset.batches(name):
                pass
        except FormatError as error:
            yield error


def changed_files(dataset: Dataset) -> Iterator[tuple[str | None, str, str, str]]:
    """(table or None, file, SHA-256 in the manifest, what it is now) of the files of a folder that are not as written.

    A file that is not there, or a link, has the digest "none".
    """
    manifest = dataset.manifest
    wanted = [(name, entry.file, entry.sha256) for name, entries in manifest.tables.items() for entry in entries]
    listed: list[tuple[str | None, str, str]] = [*wanted, *((None, *item) for item in manifest.files.items())]
    if not isinstance(dataset.source, ParquetSource):
        return
    for table, file, digest in tqdm(listed, desc="verify files", unit="file", disable=None):
        path = dataset.path / file
        found = file_digest(path) if path.is_file() and not path.is_symlink() else "none"
        if found != digest:
            yield table, file, digest, found
