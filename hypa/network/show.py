"""The profile of a network as text: its launches, and its sums beside the rows of HyPA's Table II."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from rayplay.hypa.network.profile import NetworkProfile
from rayplay.hypa.profile import Profile
from rayplay.hypa.report import branch_efficiency, write_profile

PAPER = Path(__file__).with_name("hypa_table_2.csv")
COMPARED = ("executed", "instructions", "static", "ratio", "warp instructions", "FLOPs", "eta warp", "eta CTA", "s")
FIGURES = (
    f"{'threads':>15}{'instructions':>17}{'executed':>10}{'FLOPs':>17}{'branches':>14}{'divergent':>11}"
    f"{'eta warp':>10}{'eta CTA':>10}{'ms':>8}"
)


def paper_row(name: str) -> dict[str, str] | None:
    """The row of HyPA's Table II for a network (``mobilenet_v2`` is its ``MobileNetV2``); None without one."""
    lines = [line for line in PAPER.read_text().splitlines() if not line.startswith("#")]
    rows = {row["cnn"].lower(): row for row in csv.DictReader(lines)}
    return rows.get(name.lower().replace("_", "").replace("-", ""))


def write_network(network: NetworkProfile, out: Path) -> None:
    """Write ``NAME.profile`` (``formats.dataset.profile``), the table of layers in it."""
    write_profile(network.launches, out, network.layer_rows(), "tracer network")


def launch_lines(network: NetworkProfile) -> Iterator[str]:
    """A line per launch, then the sums by kernel and over all."""
    profiles = [launch.profile for launch in network.launches.launches]
    cells = [("layer", "kernel", "grid", "block")]
    for row, profile in zip(network.layer_rows(), profiles, strict=True):
        lengths = ("x".join(str(row[f"{kind}_{axis}"]) for axis in "xyz") for kind in ("grid", "block"))
        cells.append((row["layer"], profile.kernel, *lengths))
    widths = [max(len(row[k]) for row in cells) for k in range(4)]

    def line(first: str, names: Iterable[str], figures: str) -> str:
        padded = (f"{name:<{width}}" for name, width in zip(names, widths, strict=True))
        return f"{first:>4}  {'  '.join(padded)}{figures}"

    yield line("", cells[0], FIGURES)
    for number, (profile, same) in enumerate(zip(profiles, network.same_as, strict=True)):
        duration = f"{1e3 * profile.seconds:.1f}" if same == number else f"= {same}"
        yield line(str(number), cells[number + 1], f"{_figures([profile])}{duration:>8}")
    yield ""
    for kernel in sorted({profile.kernel for profile in profiles}):
        own = [profile for profile in profiles if profile.kernel == kernel]
        yield line("", (f"{len(own)} x", kernel, "", ""), f"{_figures(own)}{_milliseconds(own):>8.1f}")
    yield line("", (f"{len(profiles)} launches", "", "", ""), f"{_figures(profiles)}{_milliseconds(profiles):>8.1f}")


def comparison_lines(networks: Iterable[NetworkProfile]) -> Iterator[str]:
    """The sums of networks under the heads of the paper's Table II, and its rows for them."""
    rows: list[tuple[str, ...]] = [("", *COMPARED)]
    for network in networks:
        name = network.plan.network.name
        rows.append((name, *_our_row([launch.profile for launch in network.launches.launches])))
        if paper := paper_row(name):
            rows += _paper_rows(paper)
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        others = (f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        yield f"{row[0]:<{widths[0]}}  {'  '.join(others)}".rstrip()


def _total(profiles: list[Profile], name: str) -> int:
    return sum(getattr(profile, name) for profile in profiles)


def _milliseconds(profiles: list[Profile]) -> float:
    return 1e3 * sum(profile.seconds for profile in profiles)


def _efficiencies(profiles: list[Profile]) -> tuple[str, str]:
    """Per warp and per CTA."""
    pairs = (("conditional_branches", "divergent_branches"), ("cta_branches", "cta_divergent_branches"))
    warp, cta = (f"{branch_efficiency(_total(profiles, b), _total(profiles, d)):.4f}%" for b, d in pairs)
    return warp, cta


def _operations(profiles: list[Profile]) -> int:
    return int(np.sum([profile.operations for profile in profiles]))


def _figures(profiles: list[Profile]) -> str:
    dynamic, executed = (_total(profiles, f"{kind}_instructions") for kind in ("dynamic", "executed"))
    warp, cta = _efficiencies(profiles)
    return (
        f"{_total(profiles, 'threads'):>15,}{dynamic:>17,}{executed / dynamic:>10.2%}{_operations(profiles):>17,}"
        f"{_total(profiles, 'conditional_branches'):>14,}{_total(profiles, 'divergent_branches'):>11,}"
        f"{warp:>10}{cta:>10}"
    )


def _our_row(profiles: list[Profile]) -> tuple[str, ...]:
    dynamic, executed = (_total(profiles, f"{kind}_instructions") for kind in ("dynamic", "executed"))
    static = sum(profile.static_instructions * profile.threads for profile in profiles)
    return (
        f"{executed / dynamic:.2%}",
        f"{dynamic:,}",
        f"{static:,}",
        f"{dynamic / static:.4f}",
        f"{_total(profiles, 'warp_instructions'):,}",
        f"{_operations(profiles):,}",
        *_efficiencies(profiles),
        f"{_milliseconds(profiles) / 1e3:.2f}",
    )


def _paper_rows(paper: Mapping[str, str]) -> list[tuple[str, ...]]:
    count = {key: f"{int(paper[key]):,}" for key in paper if key.endswith(("instructions", "flops"))}
    eta = {key: f"{paper[f'{key}_branch_efficiency_percent']}%" for key in ("hypa", "nvprof")}
    return [
        (
            "  Table II: HyPA", f"{paper['executed_percent']}%", count["hypa_instructions"],
            count["static_instructions"], paper["ratio"], "", count["hypa_flops"], "", eta["hypa"], "",
        ),
        (
            "  Table II: nvprof on V100S", "", "", "", "", count["nvprof_instructions"], count["nvprof_flops"],
            eta["nvprof"], "", "",
        ),
    ]  # fmt: skip
