"""Speed of ``python -m formats import`` on Accel-Sim's traces, and the size of the traces.

    python -m bench.reading.import_text [--folder FOLDER] [--only TEXT]

Rates are megabytes of plain text (unpacked, where the files are .xz) per second of processor time of all threads, the
best of three imports; the target is 30. Sizes: bytes of the trace / bytes of the plain text, at most a tenth. First
Accel-Sim's traces in ``RAYPLAY_DATA`` (most are small: a trace has a file a table, 20 KB together), then larger ones:
kernels of ``tracer/kernels`` on larger grids, exported to Accel-Sim's text into FOLDER.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("TQDM_DISABLE", "1")

from rayplay.formats.dataset.reader import open_trace  # noqa: E402
from rayplay.formats.exchange.accelsim.export import export_accelsim  # noqa: E402
from rayplay.formats.exchange.accelsim.files import read_list  # noqa: E402
from rayplay.formats.exchange.accelsim.importer import import_accelsim  # noqa: E402
from rayplay.formats.guard.errors import UserError  # noqa: E402
from rayplay.formats.guard.xz import open_packed  # noqa: E402

REPEATS = 3
KERNELS = ROOT / "tracer" / "kernels"
LARGER = {
    "stencil": (("[70, 120]", "[480, 960]"), ("value = 120", "value = 960"), ("value = 70", "value = 480"),
                ("[4, 9]", "[30, 60]")),
    "matrix_multiply": (("[60, 40]", "[200, 160]"), ("[40, 50]", "[160, 240]"), ("[60, 50]", "[200, 240]"),
                        ("[4, 4]", "[15, 13]"), ("value = 60", "value = 200"), ("value = 40", "value = 160"),
                        ("value = 50", "value = 240")),
    "breadth_first_search": (("3001", "60001"), ("3000", "60000"), ("[24]", "[469]")),
}  # fmt: skip


def text_bytes(listing: Path) -> int:
    """Length of the kernels' plain text."""
    total = 0
    for command in read_list(listing):
        if isinstance(command, Path):
            with open_packed(command) as file:
                while piece := file.read(1 << 20):
                    total += len(piece)
    return total


def bench(name: str, listing: Path, folder: Path) -> None:
    """One line for a kernel list."""
    size, best = text_bytes(listing), float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        import_accelsim(listing, folder / "imported.trace")
        best = min(best, time.process_time() - start)
    kept = sum(file.stat().st_size for file in (folder / "imported.trace").iterdir())
    print(
        f"{name}: {size / 1e6:.2f} MB of text, {size / best / 1e6:.1f} MB/s (target 30), trace {kept / size:.4f} of it"
        " (target 0.1)",
        flush=True,
    )


def make_larger(name: str, folder: Path) -> Path:
    """The kernel list of a larger launch of one of our kernels."""
    from rayplay.tracer.launch import run_launch_file

    text = (KERNELS / f"{name}.toml").read_text()
    for old, new in LARGER[name]:
        if old not in text:
            raise UserError(f"{name}.toml: must have {old}, which this benchmark replaces")
        text = text.replace(old, new)
    launch = folder / f"{name}.toml"
    launch.write_text(text)
    (folder / f"{name}.ptx").write_bytes((KERNELS / f"{name}.ptx").read_bytes())
    run_launch_file(launch, folder / f"{name}.trace")
    export_accelsim(open_trace(folder / f"{name}.trace"), folder / name)
    return folder / name / "kernelslist.g"


def main() -> None:
    """Accel-Sim's traces, then larger ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where traces are written (default: a temporary folder)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the traces whose name contains TEXT")
    arguments = parser.parse_args()
    data = Path(os.environ.get("RAYPLAY_DATA", ROOT.parent / "shared")) / "reference" / "accelsim"
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        for listing in sorted(data.glob("*/*/kernelslist.g")):
            if arguments.only in listing.parent.name:
                bench(listing.parent.name, listing, folder)
        for name in LARGER:
            if arguments.only in name:
                bench(f"{name}, exported", make_larger(name, folder), folder)


if __name__ == "__main__":
    main()
