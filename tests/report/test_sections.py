"""Parts of the second screen: their numbers equal what a slow reading of the tables gives."""

import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import rayplay
from rayplay.formats.dataset.result import open_result
from rayplay.replay.unit.cycle_stack import REASONS
from rayplay.replay.verdict import PHRASES, percent
from rayplay.report.comparison import answer
from rayplay.report.cores import slowest
from rayplay.report.memory import SECTOR_BYTES, edges, rate
from rayplay.report.page import page
from rayplay.report.program import program_section
from rayplay.report.rays import rays_cost, read_rays
from rayplay.report.run import Run, moved_key
from rayplay.report.tables import table


def rows_of(markup: object, caption: str) -> list[list[str]]:
    """Texts of the cells of one table of a page."""
    part = str(markup).partition(f"<caption>{caption}</caption>")[2].partition("</table>")[0]
    body = part.partition("<tbody>")[2]
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body)]


def test_the_edges_of_the_memory_chart_add_up(runs: list[Run]) -> None:
    for run in runs:
        lsu, rt, l2, dram = edges(run)
        found = {(unit, name): value for unit, of in run.counters.items() for name, value in of.items()}
        assert rt.read == found["rt_unit", "reads"] * SECTOR_BYTES
        asked = lsu.read + lsu.written + rt.read + rt.written
        hits = [(edge.read_hits or 0) + (edge.write_hits or 0) for edge in (lsu, rt, l2)]
        assert (hits[0] + hits[1]) / asked == pytest.approx(1 - run.value("l1d_miss_rate"))
        assert hits[2] / (l2.read + l2.written) == pytest.approx(1 - run.value("l2_miss_rate"))
        assert rate(rt.read_hits, rt.read) == pytest.approx(1 - run.value("rt_l1d_read_miss_rate"))
        assert rt.write_hits == found["rt_unit", "write_hits"] * SECTOR_BYTES
        assert dram.read + dram.written == run.value("dram_bytes")
        assert min(lsu.read, lsu.written, hits[0]) >= 0
        kinds = ("hits", "pending_hits", "line_misses", "sector_misses")
        l1 = sum(found["l1d", f"{of}_{kind}"] for of in ("read", "write") for kind in kinds)
        assert asked == l1 * SECTOR_BYTES


def test_the_wait_for_a_place_in_the_rt_unit_is_said(runs: list[Run], tmp_path: Path) -> None:
    """With a place for each warp none waits for one; with one for four, many do."""
    gpu = rayplay.Gpu.load("mobile").with_values(**{"rt.warps": 1})
    rayplay.replay(runs[0].trace, gpu, out=tmp_path / "x.result")
    narrow = Run(open_result(tmp_path / "x.result"))
    for run, least, most in ((runs[0], 0.0, 0.05), (narrow, 0.25, 0.75)):
        table = run.result.read("stalls")
        waited = sum(c for s, c in zip(table["state"], table["warp_cycles"].tolist(), strict=True) if s == "rt_unit")
        inside = run.value("rt_warps") * run.value("rt_warp_latency")
        assert run.queued == pytest.approx(max(0.0, 1 - inside / waited))
        assert least <= run.queued <= most
    assert "free place" not in page(runs[:1])
    assert f"{percent(narrow.queued or 0)} is for a free place in it (rt.warps = 1)." in page([narrow])


def test_the_slowest_sm_is_the_least_idle(runs: list[Run]) -> None:
    stack = runs[0].result.read("stack")
    idle: dict[int, int] = defaultdict(int)
    for sm, reason, slots in zip(stack["sm"].tolist(), stack["reason"], stack["slots"].tolist(), strict=True):
        idle[sm] += slots if reason == "idle" else 0
    least = min(idle, key=lambda sm: idle[sm])
    assert f"Slowest SM: {least}, live warps in " in slowest(runs[0])
    assert slowest(runs[0]) in page(runs[:1]).partition('class="detail"')[0]


def test_rays_are_counted_by_trace_call(runs: list[Run]) -> None:
    """Against a loop over all stretches of rays, of which the sample has none after programs."""
    trace = runs[0].trace
    assert trace is not None
    table = trace.read("rays")
    calls: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row in range(len(table["warp_id"])):
        key, count = (
            (int(table["warp_id"][row]), int(table["lane"][row])),
            int(table["node_offset"][row + 1] - table["node_offset"][row]),
        )
        if table["segment"][row] == 0:
            calls[key].append(count)
        else:
            calls[key][-1] += count
    rays = read_rays(trace)
    found: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for thread, call, records in zip(rays.thread.tolist(), rays.call.tolist(), rays.records.tolist(), strict=True):
        found[divmod(thread, 32)][call] = records
    assert {key: [of[at] for at in range(len(of))] for key, of in found.items()} == dict(calls)
    first = rows_of(rays_cost(runs[0]), "Rays by trace call of their thread")[0]
    assert first[1] == f"{len(calls):,}"
    costliest = rows_of(rays_cost(runs[0]), "Costliest rays")
    assert int(costliest[0][0]) == max(max(of) for of in calls.values())
    pixels = runs[0].pixels()
    assert pixels is not None
    assert all(int(row[6].replace(",", "")) == pixels[int(row[5]), int(row[4])] for row in costliest)


def test_continuations_belong_to_their_call() -> None:
    class OneBatch:
        """A trace of one warp: lane 0 traces, goes on after a program, traces again; lane 1 traces once."""

        def rows(self, table: str) -> int:
            return 1

        def batches(self, table: str, columns: list[str]) -> list[dict[str, np.ndarray]]:
            return [{
                "warp_id": np.zeros(4, np.uint32), "lane": np.array([0, 1, 0, 0], np.uint8),
                "segment": np.array([0, 0, 1, 0], np.uint16), "kind": np.array([0, 1, 0, 0], np.uint8),
                "primitive": np.array([-1, 3, 5, -1], np.int32), "node_offset": np.array([0, 2, 5, 9, 10]),
            }]  # fmt: skip

    rays = read_rays(OneBatch())  # type: ignore[arg-type]
    assert rays.thread.tolist() == [0, 0, 1]
    assert rays.call.tolist() == [0, 1, 0]
    assert rays.records.tolist() == [6, 1, 3]
    assert rays.hit.tolist() == [True, False, True]
    assert rays.early_out.tolist() == [False, False, True]


def test_waits_stand_at_their_instruction(runs: list[Run]) -> None:
    section = program_section(runs[0])
    assert section is not None
    table, text = runs[0].result.read("stalls"), runs[0].trace.read("instructions", ["text"])  # type: ignore[union-attr]
    sums: dict[str, int] = defaultdict(int)
    for at, cycles in zip(table["instruction_id"].tolist(), table["warp_cycles"].tolist(), strict=True):
        sums[text["text"][at]] += cycles
    shown: dict[str, int] = defaultdict(int)
    for row in rows_of(section[0], "Instructions"):
        shown[row[1]] += int(row[5].replace(",", ""))
    assert sum(shown.values()) == sum(sums.values()) == table["warp_cycles"].sum()
    worst = max(sums, key=lambda name: sums[name])
    share = [int(row[5].replace(",", "")) for row in rows_of(section[0], "Instructions")]
    assert share == sorted(share, reverse=True)
    linked = re.findall(r'href="#([^"]*)"', str(section[0]))
    assert [str(section[0]).index(f'id="{anchor}"') for anchor in linked] == sorted(
        str(section[0]).index(f'id="{anchor}"') for anchor in linked
    )
    assert worst[:40] in str(section[0]).partition("<caption>")[0].replace("&gt;", ">")


def test_a_change_is_judged_in_words(runs: list[Run]) -> None:
    base, changed = runs
    moved = changed.cycles / base.cycles - 1
    assert "whether chance moves them as far is not known" in answer(changed, base, None)
    said = answer(changed, changed, 0.01)
    assert said == "changed against changed: the same cycles; this is within the noise floor of 1.00 %."
    size = f"{100 * abs(moved):.2f} % {'fewer' if moved < 0 else 'more'} cycles"
    assert f"{size}; this exceeds the noise floor of 0.00 %." in answer(changed, base, 0.0)
    assert f"{size}; this is within the noise floor" in answer(changed, base, abs(moved) + 1)
    own = Run(changed.result, changed.trace)
    own.__dict__["gpu"] = changed.gpu | {"l1": changed.gpu["l1"] | {"latency_cycles": 999}}
    assert answer(own, changed, None).startswith("changed against changed (l1.latency_cycles ")


def test_every_sm_has_a_row(runs: list[Run]) -> None:
    rows, (sms, slots) = rows_of(page(runs[:1]), "SMs"), runs[0].slots
    assert [int(row[0]) for row in rows] == sms.tolist()
    issue, idle = (REASONS.index(reason) for reason in ("issue", "idle"))
    for row, of in zip(rows, slots.astype(float), strict=True):
        assert float(row[1]) == pytest.approx(100 - 100 * of[idle] / of.sum(), abs=0.006)
        assert float(row[2]) == pytest.approx(100 * of[issue] / of.sum(), abs=0.006)
        assert row[3] in PHRASES.values()
    issued = sum(int(row[5].replace(",", "")) for row in rows)
    assert issued == runs[0].summary["warp_instructions"]["value"]


def test_a_page_of_several_begins_with_their_differences(runs: list[Run], two: str) -> None:
    assert two.index('class="differences"') < two.index("data-show") < two.index('class="first"')
    rows = {row[0]: row[1:] for row in rows_of(two, "Side by side; differences of shares are percentage points")}
    cycles = [run.cycles for run in runs]
    assert rows["cycles"] == [f"{each:,} cycles" for each in cycles] + [f"{100 * (cycles[1] / cycles[0] - 1):+.2f} %"]
    misses = [run.value("l2_miss_rate") for run in runs]
    assert rows["L2 misses"][2] == f"{100 * (misses[1] - misses[0]):+.2f} points"
    assert rows["RT efficiency"][:2] == [percent(run.value("rt_efficiency")) for run in runs]


def test_links_lead_to_parts(two: str) -> None:
    linked, ids = re.findall(r'href="#([^"]*)"', two), re.findall(r' id="([^"]*)"', two)
    assert len(linked) > 20
    assert set(linked) <= set(ids)
    assert len(ids) == len(set(ids))


def test_changed_bytes_are_said_in_binary_units() -> None:
    assert moved_key("l1.bytes", 65536, 131072) == "l1.bytes 64 KiB \u2192 128 KiB"
    assert moved_key("l1.bytes", 1536, 1000) == "l1.bytes 1,536 B \u2192 1,000 B"
    assert moved_key("rt.warps", 4, 1) == "rt.warps 4 \u2192 1"


def test_columns_have_the_same_decimals_and_names_no_separators() -> None:
    rows = rows_of(table(("line", "share in %", "cycles"), [(1730, 0.5, 1730), (2, 12.25, None)], "x"), "x")
    assert rows == [["1730", "0.50", "1,730"], ["2", "12.25", "-"]]
