"""Help texts of ``python -m formats VERB``."""

DESCRIPTION = """\
Inspect traces, results and predictions (folders of Parquet files, or NAME.trace.h5), check their laws,
compare them, select from and merge traces, and convert them between Parquet, HDF5 and Accel-Sim's files.
"""
SHOW_EXAMPLE = """\
prints the columns with units and meaning, rows, bytes per row on disk, and the first rows of each table.

example:
  python -m formats show traces/cornell.trace --rows 3
"""
CHECK_EXAMPLE = """\
verifies every file's SHA-256 and every law of the tables (docs/formats.md lists them), and prints each problem with
its table, row and value, 20 per law at most. Exit code 0 when all laws hold, 1 when one is broken, 2 when a file cannot
be read.

example:
  python -m formats check traces/cornell.trace
"""
VERIFY_EXAMPLE = """\
reads every byte once: the SHA-256 of each file, the checksum of each page (of each chunk in HDF5), types and limits.
Prints each damage with file, table, row group and column; exit code 0 when nothing changed since writing, else 2. The
meaning of the numbers is the business of the verb check.

example:
  python -m formats verify traces/cornell.trace
"""
STATS_EXAMPLE = """\
prints size and activity of a trace: bytes on disk per warp instruction, block visit, lane address and ray; instruction
mix; active lanes; different sectors and BVH records that were touched.

example:
  python -m formats stats traces/cornell.trace
"""
DIFF_EXAMPLE = """\
prints for each table the first row and column whose values differ. The division of rows into files and the
provenance do not count. Exit code 0 when all values are equal, 1 when not.

example:
  python -m formats diff traces/a.trace traces/b.trace.h5
"""
COMPARE_EXAMPLE = """\
prints each metric that two results share, and the difference of A from B: in percent, for shares in percentage points.

example:
  python -m formats compare results/bfs.result results/measured.result
"""
SELECT_EXAMPLE = """\
writes the part of a trace that is in all the given sets (numbers and ranges such as 0,4-7) as a trace of its own, with
the remaining launches, CTAs and warps renumbered. --pixels removes lanes instead: every warp is still launched, as if
the program had been run with filter_shader.

examples:
  python -m formats select traces/bfs.trace --kernels 3,5-8 --out traces/part.trace
  python -m formats select traces/cornell.trace --pixels pixels.txt --out traces/tenth.trace
"""
MERGE_EXAMPLE = """\
writes one trace with the launches of all, each trace in streams of its own. Addresses stay as they are.

example:
  python -m formats merge traces/frame.trace traces/physics.trace --out traces/both.trace
"""
CONVERT_EXAMPLE = """\
writes the same tables to OUT: an HDF5 file when the name ends in .h5 or .hdf5, else a folder of Parquet files.

example:
  python -m formats convert traces/cornell.trace traces/cornell.trace.h5
"""
IMPORT_EXAMPLE = """\
writes one trace (or result) from files captured by other tools:
- kernelslist.g: output of Accel-Sim's tracer (.traceg or .traceg.xz files beside it, versions 1 to 6); every
  instruction that a warp executed keeps its lanes and addresses;
- NAME.txt or NAME.txt.xz: Vulkan-Sim's dump of its RT unit, as a trace of rays alone;
- FILE.csv: measurements of Nsight Compute (ncu --csv --page raw), as a result to compare with;
- a folder with instructions.csv, visits.csv, accesses.csv, ... (or .parquet): the tables of docs/formats.md, of which
  instructions and visits are enough; columns with one obvious value may be left out.

examples:
  python -m formats import hw/kernelslist.g --out traces/bfs.trace
  python -m formats import mine/ --out traces/mine.trace
"""
EXPORT_EXAMPLE = """\
writes a trace as files that Accel-Sim reads: kernelslist.g and one kernel-N.traceg a launch. Instructions of PTX become
the SASS opcode of their class. Importing them again gives the same lanes and addresses, instruction by instruction;
opcodes, registers and the division into blocks may differ (DEVIATIONS.md, F2 and F4).

example:
  python -m formats export traces/vectoradd.trace --out vectoradd
"""
DOCS_EXAMPLE = """\
prints the page docs/formats.md, which follows from the schema.

example:
  python -m formats docs > docs/formats.md
"""
