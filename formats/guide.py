"""Guide in ``docs/formats.md``: a writer to start from, questions, versions, interruption, stores."""

from rayplay.formats.schema.trace import VERSION as TRACE_VERSION

VERSION = ".".join(map(str, TRACE_VERSION))
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
    pq.write_table(table, f"mine.trace/{name}-00000.parquet", write_page_checksum=True)
    raw = open(f"mine.trace/{name}-00000.parquet", "rb").read()
    entry = {"rows": len(table), "bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    manifest["tables"][name] = [entry | {"file": f"{name}-00000.parquet"}]
json.dump(manifest, open("mine.trace/manifest.json", "w"))
"""

QUESTIONS = """\
## Questions that a writer meets

- **Blocks.** A visit executes every instruction of its block once, in order, under one mask. So a block ends after a
  branch, after an exit, after a call of code whose blocks are in the trace, and after a trace instruction, whose rays
  are traced when the visit ends; and it ends before a place that control can come to. Barriers may stand anywhere;
  Rayplay's own blocks end after a CTA's barrier.
- **Reconvergence.** `reconvergence_block` may be -1 everywhere. Replay never reads it: the masks of the visits say what
  lanes do. Only filtering by pixels does, of a program with Zatel's `filter_shader`: with -1 lanes that are left out
  are also removed from the block where its two sides reconverge, which other lanes visit.
- **Parts.** A trace may be partial. A warp may have no visits, and need not end with an exit: it retires after its last
  visit. A CTA without visits is not launched, nor is one that is not in `warps`.
- **Streams.** Kernels run one after the other, in the order of `kernels`, whatever their streams. With
  `--set sm.concurrent_kernels=N` kernels of different streams in a window of N run side by side.
- **Copies.** They take no time: before the launch that they name, their sectors are put into the L2
  (`--set memory.copies=none` leaves it cold, `low_32_bits` takes addresses as Accel-Sim does).
- **Registers.** Two instructions depend on each other where they name the same number; the model `pipeline` also puts
  register r into bank (r + 1) modulo the banks of a scheduler. Traces of PTX number all registers, also predicates, in
  the order of their first use, a 64-bit one once. Imported SASS has R0 to R255 as 0 to 255, UR0 as 256, P0 as 320 and
  UP0 as 328 onwards; RZ, URZ, PT and UPT are left out (Accel-Sim's tracer writes RZ as R255, which is kept); a pair
  for 64 bits, or more, is named as in the captured trace, mostly by its first register alone. Wide SASS loads then wait
  for that one, or for all that they write: `pipeline.wide_loads`.
- **Predicates.** A row of `predicates` says that an executed instruction of a visit had a guard and that only
  `lane_mask` of the visit's lanes (maybe none) passed it: arithmetic, branches and exits as well as accesses. Nothing
  must be listed: without a row, all active lanes executed. What rows change is `thread_instructions` (and what follows
  from it) of the model `pipeline`, which counts, as Accel-Sim does, the lanes that passed; `characterised` and `gatsim`
  count active lanes, and so does every model for traces of PTX, which have no such rows. A guarded instruction takes
  its issue slot and its unit in any case. A guarded access has only the lanes that passed in `accesses` (or no row),
  and a text that starts with `@`.
- **Parameters and constants.** `ld.param` and `ld.const` are of class `constant`, `st.param` of class `move`: no
  addresses are recorded, and they take the integer unit. [opcodes.md](opcodes.md) lists the class of every opcode.
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

## Your own tables, without a writer

In Python `formats.from_frames("mine.trace", instructions=..., visits=..., accesses=...)` takes pandas or polars frames,
Arrow tables or plain dicts; from anywhere else `python -m formats import FOLDER --out mine.trace` takes a folder with
`instructions.csv`, `visits.csv`, `accesses.csv` (or `.parquet`). Columns and tables with one obvious value are filled
in, all laws are checked, and errors name the column. `instructions` and `visits` are enough.

{QUESTIONS}
## Versions

The manifest, every Parquet file of Rayplay's (key-value metadata `rayplay.format` and `rayplay.version`) and every HDF5
file (attributes `format` and `version`) carry the format's name and its version, major and minor.

- Every older minor version is read: a minor version adds optional tables, never columns to a table that there was.
- At version {VERSION} a table, a column or a key of the manifest that this page does not have is refused. Of a newer
  minor version it is skipped (a column in Parquet alone).
- Another major version is refused: a newer one with the advice to take a newer Rayplay, an older one to write it again.
- A file whose own name or major version contradicts the manifest is refused. Files of other writers need not have one.

`tests/data/` keeps a sample of every version, which a test reads.

## Interruption

Output is made in a hidden folder `.NAME.????????.partial` beside its final name, and takes the name in
one step when it is complete. Killed at any moment, a run leaves the old content and the hidden folder, which
the next run that writes the same name removes. A living process holds a lock on its hidden folders. A folder
that holds more than its manifest lists (notes, pictures of your own) is not replaced: that is one error, before any
work. A symbolic link stays; its target is replaced.

`python -m tracer render ... --resume` and `python -m replay ... --resume` resume from the last checkpoint
(`.NAME.????????.checkpoint`) and end with the bytes of an uninterrupted run. A render saves one after each completed
file, or ten seconds, between two CTAs; a replay every thirty seconds. Only a run of the same inputs, arguments and code
is resumed; otherwise it starts from the beginning and says so. Ctrl-C and a full disk also keep the checkpoint. A run
that cannot save a checkpoint warns once, keeps the one before, and continues.

## Stores

Every path of a trace or result may be one of a store that fsspec knows: `s3://bucket/NAME.trace` (with `s3fs`
installed), `gs://` (`gcsfs`), `memory://`, ... Reading fetches the needed parts of each file. Writing makes the
files in the local temporary folder and puts them into the store, the manifest last, so that no reader finds half a
trace. A store has no rename: while a trace is replaced, it is absent. HDF5 files are local only.
"""
