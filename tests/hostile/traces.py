"""Hostile traces: checksummed, of the right types, and odd."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.edit.convert import convert
from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.limits import STRING_BYTES
from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.parquet.groups import checked
from rayplay.formats.schema.manifest import MANIFEST, digest_of
from rayplay.formats.schema.trace import TRACE
from rayplay.formats.testing.generate import make_tables, make_trace
from tests.hostile.verbs import VERBS, Case

ALL = frozenset(VERBS["trace"])
BYTES_ALONE = frozenset({"verify"})
LOOKING = frozenset({"show", "verify", "stats", "diff", "heat", "page", "joules"})
"""Verbs that check no law: they may show what others refuse."""
PIXELS = ALL - {"show", "check", "verify", "stats", "diff", "convert", "copy", "select", "merge", "export"}
TIMED = frozenset({"replay", "gatsim", "predict", "estimate", "whatif", "scale"})
OTHER = r"|must be one launch|must be without rays|must be the trace of an image|--fraction must give"
OTHER += "|must be a launch|must have warps"
OTHER += "|must be the trace that|is no replay of this trace|must have the launches of the trace"


def changed(change: Callable[[dict[str, Columns]], object], image: tuple[int, int] | None = (40, 6)) -> Any:
    """Make a trace of one launch whose tables ``change`` has changed."""

    def make(folder: Path) -> None:
        ctas = 0 if image else 1
        tables = {name: checked(TRACE.table(name), each) for name, each in make_tables(1, image, ctas).items()}
        change(tables)
        with TraceWriter(folder / "a.trace", image_size=image) as writer:
            for name, columns in tables.items():
                writer.put(name, columns)

    return make


def cell(table: str, column: str, value: Any, row: int = 0) -> Any:
    """Make a trace one of whose cells holds ``value``."""

    def put(tables: dict[str, Columns]) -> None:
        tables[table][column][row] = value

    return changed(put)


def block_and_grid(side: int) -> Any:
    """Make a trace with a grid of CTAs as large as the columns can say."""

    def put(tables: dict[str, Columns]) -> None:
        for what in ("grid", "block"):
            for axis in "xyz":
                tables["kernels"][f"{what}_{axis}"][:] = side

    return changed(put, None)


def with_manifest(edit: Callable[[str], str], digest: bool = True) -> Any:
    """Make a trace with an edited text of its manifest, and the digest of it."""

    def make(folder: Path) -> None:
        path = make_trace(folder / "a.trace", 1, (40, 6), 0) / MANIFEST
        document = json.loads(path.read_text())
        document.pop("digest")
        text = edit(json.dumps(document | {"provenance": {"x": 1}}))
        if digest:
            text = text.rstrip()[:-1] + f', "digest": "{digest_of(json.loads(text))}"}}'
        path.write_text(text)

    return make


def provenance(text: str, digest: bool = True) -> Any:
    """Make a trace with this text as a value of its provenance."""
    return with_manifest(lambda document: document.replace('"x": 1', f'"x": {text}'), digest)


def with_table(table: str, data: Callable[[], pa.Table], **options: Any) -> Any:
    """Make a trace one of whose files is another."""

    def make(folder: Path) -> None:
        path = make_trace(folder / "a.trace", 1, (40, 6), 0)
        rows = data()
        file = path / f"{table}-00000.parquet"
        pq.write_table(rows, file, **options)
        document = json.loads((path / MANIFEST).read_text())
        entry = {"bytes": file.stat().st_size, "rows": len(rows), "sha256": file_digest(file)}
        document["tables"][table][0] |= entry
        document["digest"] = digest_of(document)
        (path / MANIFEST).write_text(json.dumps(document))

    return make


def many_warps() -> pa.Table:
    """Fifty million warps: 0.5 MB of file."""
    count = 50_000_000
    zeros = np.zeros(count, np.uint32)
    columns = {"kernel_id": zeros, "warp_id": np.arange(count, dtype=np.uint32), "cta_id": zeros}
    return pa.table({**columns, "warp_in_cta": zeros.astype(np.uint16), "launched_mask": zeros + np.uint32(1)})


def long_text(column: str, length: int) -> Any:
    """Make a trace one of whose texts is this long."""

    def make(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:  # Rayplay's own writer refuses it as well
            patch.setenv(STRING_BYTES.variable, str(length))
            changed(lambda tables: tables["instructions"][column].__setitem__(1, "x" * length))(folder)

    return make


def in_hdf5(make: Callable[[Path], object], change: Callable[[h5py.File], object] = lambda file: None) -> Any:
    """Make an HDF5 file of the trace, and change it."""

    def both(folder: Path) -> None:
        make(folder)
        (folder / "a.trace").rename(folder / "b.trace")
        convert(open_trace(folder / "b.trace"), folder / "a.trace.h5")
        with h5py.File(folder / "a.trace.h5", "r+") as file:
            change(file)

    return both


def many_dimensions(file: h5py.File) -> None:
    """A column with as many dimensions as HDF5 has."""
    del file["visits/block_id"]
    file["visits"].create_dataset("block_id", data=np.zeros((1,) * 32, np.uint32))


whole = changed(lambda tables: None)
CASES = (
    Case("nan in provenance", "trace", provenance("NaN", False), "must be JSON: .*NaN"),
    Case("infinity in provenance", "trace", provenance("1e999", False), "must be JSON: .*1e999"),
    Case("deep provenance", "trace", provenance("[" * 900 + "]" * 900, False), "nest at most 100 deep"),
    Case("deeper provenance", "trace", provenance("[" * 10**6 + "]" * 10**6, False), "must be JSON"),
    Case("manifest of 64 MB", "trace", provenance("[" + "{}," * 22_000_000 + "0]", False), "manifest-bytes="),
    Case("image of 65535 x 65535", "trace",
         with_manifest(lambda text: text.replace("[40, 6]", "[65535, 65535]")), "image-pixels="),
    Case("block of 2^96 threads", "trace", block_and_grid((1 << 32) - 1), "must be at most" + OTHER, LOOKING),
    Case("opcode of 20 MB", "trace", long_text("opcode", 20 << 20), "string-bytes=" + OTHER, BYTES_ALONE | {"page"}),
    Case("text of 100 MB", "trace", long_text("text", 100 << 20), "string-bytes=" + OTHER, BYTES_ALONE),
    Case("50 M warps", "trace", with_table("warps", many_warps), "warps="),
    Case("stream 2^32 - 1", "trace", cell("kernels", "stream", (1 << 32) - 1), "stream must be below" + OTHER, LOOKING),
    Case("stream 2^31", "trace", cell("kernels", "stream", 1 << 31), "stream must be below" + OTHER, LOOKING),
    Case("addresses of 2^64 - 1", "trace", changed(lambda t: t["accesses"]["address"].fill((1 << 64) - 1)),
         "address" + OTHER, ALL),
    Case("nodes at 2^64 - 1", "trace", changed(lambda t: t["nodes"]["address"].fill((1 << 64) - 1)),
         "address" + OTHER, ALL),
    Case("bases of 2^64 - 1", "trace", changed(
        lambda t: [t["kernels"][name].fill((1 << 64) - 1) for name in ("shared_base", "local_base")]),
         "base must be below" + OTHER, LOOKING),
    Case("shared memory of 4 GiB", "trace", cell("kernels", "shared_bytes", (1 << 32) - 1), "shared" + OTHER, ALL),
    Case("local memory of 4 GiB", "trace", cell("kernels", "local_bytes", (1 << 32) - 1), "local" + OTHER, ALL),
    Case("lane 255", "trace", cell("threads", "lane", 255), "lane" + OTHER, LOOKING),
    Case("thread of warp 2^32 - 1", "trace", cell("threads", "warp_id", (1 << 32) - 1, -1), "warp_id" + OTHER, LOOKING),
    Case("visit 2^32 - 1", "trace", cell("rays", "visit", (1 << 32) - 1), "visit" + OTHER, LOOKING),
    Case("block 2^32 - 1", "trace", cell("visits", "block_id", (1 << 32) - 1), "block" + OTHER,
         LOOKING - {"stats", "heat", "page"}),
    Case("instruction 2^32 - 1", "trace", cell("accesses", "instruction_id", (1 << 32) - 1), "instruction" + OTHER,
         LOOKING),
    Case("NaN of a ray", "trace", changed(lambda t: t["rays"]["t_max"].fill(np.nan)), "nothing" + OTHER, ALL),
    Case("escapes in names", "trace", changed(
        lambda t: t["kernels"]["name"].__setitem__(0, "\x1b[31mred\x07\u202e\n")), "opcode" + OTHER, ALL),
    Case("32 dimensions in HDF5", "hdf5", in_hdf5(whole, many_dimensions), "one dimension"),
)  # fmt: skip
