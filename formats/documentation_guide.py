"""The parts of ``docs/formats.md`` that guide: a writer to start from, versions, interruption, stores."""

EXAMPLE = """\
import hashlib, json, os
import pyarrow as pa, pyarrow.parquet as pq

WARPS, TRIPS, FULL, BASE = 64, 10, 0xFFFFFFFF, 0x1000_0000
i32, u16, u32, u64, text = pa.int32(), pa.uint16(), pa.uint32(), pa.uint64(), pa.string()
warp, trip = [w for w in range(WARPS) for _ in range(TRIPS)], [*range(TRIPS)] * WARPS  # of each load, in order
TABLES = {
    "kernels": {  # one launch: 64 CTAs of one warp
        "kernel_id": (u32, [0]), "name": (text, ["sum"]), "stream": (u32, [0]),
        "grid_x": (u32, [WARPS]), "grid_y": (u32, [1]), "grid_z": (u32, [1]),
        "block_x": (u32, [32]), "block_y": (u32, [1]), "block_z": (u32, [1]), "registers_per_thread": (u16, [16]),
        "shared_bytes": (u32, [0]), "shared_base": (u64, [1 << 40]), "local_base": (u64, [1 << 41]),
        "local_bytes": (u32, [0]), "source": (text, ["ptx"])},
    "instructions": {  # block 0 is a loop, block 1 what follows it
        "kernel_id": (u32, [0] * 4), "instruction_id": (u32, range(4)), "block_id": (u32, [0, 0, 0, 1]),
        "opcode": (text, ["ld.global.u32", "add.u32", "bra", "exit"]),
        "operation_class": (text, ["load", "int", "branch", "exit"]),
        "memory_space": (text, ["global", "none", "none", "none"]), "access_bytes": (u16, [4, 0, 0, 0]),
        "destination_registers": (pa.list_(u32), [[1], [2], [], []]),
        "source_registers": (pa.list_(u32), [[0], [1, 2], [], []]),
        "line": (u32, [1, 2, 3, 4]), "text": (text, ["ld r1, [r0];", "add r2, r2, r1;", "@p bra L;", "exit;"])},
    "blocks": {
        "kernel_id": (u32, [0, 0]), "block_id": (u32, [0, 1]), "first_instruction": (u32, [0, 3]),
        "instruction_count": (u32, [3, 1]), "reconvergence_block": (i32, [1, -1]), "program": (text, ["sum", "sum"])},
    "warps": {"kernel_id": (u32, [0] * WARPS), "warp_id": (u32, range(WARPS)), "cta_id": (u32, range(WARPS)),
              "warp_in_cta": (u16, [0] * WARPS), "launched_mask": (u32, [FULL] * WARPS)},
    "visits": {"warp_id": (u32, [w for w in range(WARPS) for _ in range(TRIPS + 1)]),
               "block_id": (u32, ([0] * TRIPS + [1]) * WARPS), "active_mask": (u32, [FULL] * WARPS * (TRIPS + 1))},
    "accesses": {"warp_id": (u32, warp), "visit": (u32, trip), "instruction_id": (u32, [0] * len(warp)),
                 "lane_mask": (u32, [FULL] * len(warp)), "address": (pa.list_(u64), [
                     [BASE + 4 * (32 * (w * TRIPS + t) + lane) for lane in range(32)] for w, t in zip(warp, trip)])}}
os.makedirs("mine.trace", exist_ok=True)
manifest = {"format": "rayplay trace", "version": [1, 0], "tables": {}}
for name, columns in TABLES.items():
    table = pa.table({key: pa.array(list(values), kind) for key, (kind, values) in columns.items()})
    pq.write_table(table, f"mine.trace/{name}.parquet")
    raw = open(f"mine.trace/{name}.parquet", "rb").read()
    entry = {"rows": len(table), "bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    manifest["tables"][name] = [entry | {"file": f"{name}.parquet"}]
json.dump(manifest, open("mine.trace/manifest.json", "w"))
"""

GUIDE = f"""\
## A writer to start from

Forty lines of Python, pyarrow alone, that write a trace: 64 warps add ten numbers per thread. It keeps every law below;
`python -m formats check mine.trace` says so, and `python -m replay mine.trace --gpu rtx2060` replays it. A test runs
this text as it stands here.

<!-- fmt: off -->
```python
{EXAMPLE}```
<!-- fmt: on -->

Any other language will do as well: six Parquet files with the columns of the tables below that are not marked optional,
and the manifest. A table `characterisation` brings known latencies, `rays` and `nodes` the work of the RT unit.

## Versions

The manifest, every Parquet file of Rayplay's (key-value metadata `rayplay.format` and `rayplay.version`) and every HDF5
file (attributes `format` and `version`) carry the format's name and its version, major and minor.

- Every older minor version is read: a minor version adds optional tables, never columns to a table that there was.
- A newer minor version is read without the tables, columns and keys of the manifest that are unknown.
- Another major version is refused: a newer one with the advice to take a newer Rayplay, an older one to write it again.
- A file whose own name or major version contradicts the manifest is refused. Files of other writers need not have one.

`tests/data/` keeps a sample of every version, which a test reads.

## Interruption

Whatever is written is made in a hidden folder `.NAME.????????.partial` beside its final name, and takes the name in
one step when it is complete. Killed at any moment, a run leaves what stood there before, and the hidden folder, which
the next run that writes the same name removes. A process that is alive holds a lock on its hidden folders.

`python -m tracer render ... --resume` and `python -m replay ... --resume` go on instead, from the last checkpoint
(`.NAME.????????.checkpoint`), and end with the bytes of a run that nobody interrupted. A render makes one after each
completed file, or ten seconds, between two CTAs; a replay every thirty seconds. Only a run of the same inputs,
arguments and code is gone on with; else it begins at the beginning and says so. Ctrl-C and a full disk keep the
checkpoint, too.

## Stores

Every path of a trace or result may be one of a store that fsspec knows: `s3://bucket/NAME.trace` (with `s3fs`
installed), `gs://` (`gcsfs`), `memory://`, ... Reading fetches what is needed of each file. Writing makes the files in
the temporary folder of this machine and puts them there, the manifest last, so that nobody reads half a trace. A store
has no rename: while a trace is replaced, there is none. HDF5 files are of this machine only.
"""
