"""``python -m tools.site.build [OUT]``: the site of the repository's pages and of the public names, a folder to open.

The pages keep their places, so that their links hold; files that they link to come along.
"""

import importlib
import logging
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from tools.site.links import ROOT, links, pages

STAGE = ROOT / "build" / "site-pages"
PACKAGES = {
    "rayplay": "Rayplay from Python",
    "rayplay.formats": "Files: traces, results, profiles",
    "rayplay.ptx": "PTX and SASS",
    "rayplay.tracer.api": "Tracer: launches of programs",
    "rayplay.tracer.raster": "Tracer: rasterisation",
}
STYLE = ".doc-contents p { white-space: pre-line }"  # docstrings list arguments in lines
NAVIGATION: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Start",
        (
            "README.md",
            "docs/foreign.md",
            "docs/queries.md",
            "docs/api.md",
            "examples/README.md",
            "examples/cnn/README.md",
        ),
    ),
    (
        "Use",
        (
            "docs/programs.md",
            "docs/programs/shaders.md",
            "docs/programs/gallery.md",
            "docs/kernels.md",
            "docs/hardware.md",
            "docs/raster.md",
            "docs/tuner.md",
            "docs/animations.md",
            "docs/sweep.md",
            "docs/sweep/growth.md",
            "docs/energy.md",
            "docs/analysis.md",
            "docs/zatel.md",
            "docs/estimate.md",
            "docs/policies.md",
            "docs/ray-units.md",
        ),
    ),
    (
        "Trust",
        (
            "docs/accuracy.md",
            "docs/performance.md",
            "docs/reliability.md",
            "DEVIATIONS.md",
            "docs/paper/README.md",
            "docs/crisp/README.md",
        ),
    ),
    ("Look up", ("reference.md", "docs/formats.md", "docs/replay.md", "docs/opcodes.md", "docs/sources/README.md")),
    ("Develop", ("CONTRIBUTING.md", "docs/internals.md", "CHANGELOG.md", "SECURITY.md")),
)


def stage(folder: Path) -> None:
    """Copy the pages, and each file inside the repository that one of them links to."""
    shutil.rmtree(folder, ignore_errors=True)
    found = set(pages())
    found |= {link.target for page in pages() for link in links(page) if link.target.is_file()}
    for path in sorted(found):
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    (folder / "reference.md").write_text("\n".join(reference()))
    (folder / "reference.css").write_text(
        ".doc-contents p { white-space: pre-line }"
    )  # docstrings list arguments in lines


def reference() -> Iterator[str]:
    """Lines of the page of public names."""
    yield "# Reference\n"
    for package, title in PACKAGES.items():
        yield f"## {title}\n"
        for name in public_names(package):
            yield f"::: {name}\n    options: {{heading_level: 3}}\n"


def public_names(package: str) -> list[str]:
    """Full names, each in the module that defines it; the module itself where it defines them all."""
    home: dict[str, Any] = getattr(importlib.import_module(package), "_HOME", {})
    names = [".".join(where) if isinstance(where, tuple) else f"{where}.{name}" for name, where in home.items()]
    return names or [package]


def main(out: Path) -> int:
    """Build the site. A link that leads nowhere ends with 1."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    stage(STAGE)
    config = load_config(
        str(Path(__file__).parent / "mkdocs.yml"),
        docs_dir=str(STAGE),
        site_dir=str(out.resolve()),
        nav=[{title: list(entries)} for title, entries in NAVIGATION],
        strict=True,
    )
    try:
        build(config)
    except Abort:
        return 1
    print(f"open {out / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"))
