"""A trace from one container to the other, without loss."""

from pathlib import Path

from tqdm import tqdm

from rayplay.formats.dataset.reader import HDF5_SUFFIXES, Trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.laws.expect import expect_valid
from rayplay.formats.parquet.arrow import row_count
from rayplay.formats.place.location import is_local, location


def convert(trace: Trace, path: Path | str) -> None:
    """Write ``trace`` to ``path``: an HDF5 file when the name ends in .h5 or .hdf5, else a folder of Parquet files.

    Table files written from the same rows have the same bytes. Raises ``FormatError`` when ``path`` is the trace's own.
    """
    final = location(path)
    if final.resolve() == trace.path.resolve():
        raise FormatError(f"{final}: must be another path than the trace that is read")
    if final.suffix in HDF5_SUFFIXES:
        if not is_local(final):
            raise FormatError("HDF5 files are written on this machine only: a store takes the folder", file=final)
        from rayplay.formats.dataset.hdf5_writer import write_hdf5

        expect_valid(trace)
        write_hdf5(trace, final)
        return
    expect_valid(trace)
    manifest = trace.manifest
    rows = sum(trace.rows(name) for name in trace.tables)
    with (
        tqdm(total=rows, desc=final.name, unit="row", unit_scale=True, disable=None) as progress,
        TraceWriter(final, manifest.provenance, manifest.image_size) as writer,
    ):
        for name in trace.tables:
            writer.declare(name)
            for batch in trace.batches(name):
                writer.put(name, batch)
                progress.update(row_count(trace.layout.table(name).columns, batch))
