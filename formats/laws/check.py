"""Check the laws of a trace or result: each law is a function that yields problems."""

from collections import Counter
from collections.abc import Callable, Iterator

from tqdm import tqdm

from rayplay.formats.dataset.reader import Dataset, Trace
from rayplay.formats.dataset.result import Result
from rayplay.formats.guard.problem import Problem
from rayplay.formats.laws import columns as laws_columns
from rayplay.formats.laws import execution as laws_execution
from rayplay.formats.laws import static as laws_static
from rayplay.formats.laws.execution import WARPS_TABLES, Batch, Batches
from rayplay.formats.laws.traversal import TRAVERSAL_LAWS, parents_lead_to_records, traversal_batches

COLUMN_LAWS: tuple[Callable[[Dataset], Iterator[Problem]], ...] = (
    laws_columns.files_intact,
    laws_columns.ids_are_row_numbers,
    laws_columns.columns_are_sorted,
    laws_columns.references_exist,
    laws_columns.codes_are_known,
)
STATIC_LAWS: tuple[Callable[[Trace], Iterator[Problem]], ...] = (
    laws_static.launches_are_possible,
    laws_static.instructions_are_possible,
    laws_static.copies_are_possible,
    laws_static.records_are_possible,
    laws_static.blocks_partition_instructions,
    laws_static.reconvergence_stays_in_the_launch,
    laws_static.warps_are_in_launch_order,
    laws_static.threads_have_lanes_and_pixels,
    laws_static.image_is_complete,
    laws_static.characterisation_is_possible,
    parents_lead_to_records,
)
EXECUTION_LAWS: tuple[Callable[[Batch], Iterator[Problem]], ...] = (
    laws_execution.active_masks_are_launched,
    laws_execution.visits_run_their_launch,
    laws_execution.accesses_belong_to_visits,
    laws_execution.accesses_are_complete,
    laws_execution.lane_masks_are_active,
    laws_execution.one_address_per_lane,
    laws_execution.rays_belong_to_visits,
    laws_execution.rays_are_complete,
    laws_execution.rays_are_in_order,
    laws_execution.segments_continue,
    laws_execution.hits_are_whole,
    laws_execution.predicates_leave_out_lanes,
    laws_execution.hints_belong_to_calls,
    laws_execution.hints_are_complete,
)
LAWS = (*COLUMN_LAWS, *STATIC_LAWS, *EXECUTION_LAWS, *TRAVERSAL_LAWS)
NEEDED_BY_EXECUTION = ("ids_are_row_numbers", "columns_are_sorted", "references_exist", "blocks_partition_instructions")
PROBLEMS_PER_LAW = 20


def validate(dataset: Dataset) -> list[Problem]:
    """All problems of a trace or result, the first 20 of each law.

    Streams, so a trace may be larger than memory. Raises ``FormatError`` when a file cannot be read at all.
    """
    kept: list[Problem] = []
    found: Counter[str] = Counter()
    for problem in problems(dataset):
        found[problem.law] += 1
        if found[problem.law] <= PROBLEMS_PER_LAW:
            kept.append(problem)
    return kept


def problems(dataset: Dataset) -> Iterator[Problem]:
    """Every problem, as it is found; see ``validate``."""
    broken: set[str] = set()
    for law in tqdm(COLUMN_LAWS, desc="check columns", unit="law", disable=None):
        for problem in law(dataset):
            broken.add(problem.law)
            yield problem
    if isinstance(dataset, Result):
        dataset.summary  # noqa: B018 - reading checks it
    if not isinstance(dataset, Trace):
        return
    for static_law in STATIC_LAWS:
        for problem in static_law(dataset):
            broken.add(problem.law)
            yield problem
    first = sorted(broken & set(NEEDED_BY_EXECUTION))
    if first:
        message = "the laws of visits, accesses and rays were not checked: first must hold"
        yield Problem("execution_is_checked", "visits", -1, f"broken {', '.join(first)}", message)
        return
    yield from _execution_problems(dataset)


def _execution_problems(trace: Trace) -> Iterator[Problem]:
    bounds = trace.batch_bounds(WARPS_TABLES)
    batches, read = Batches(trace), trace.warp_batches(bounds, WARPS_TABLES)
    for first, last, rows in tqdm(read, desc="check warps", total=len(bounds) - 1, unit="batch", disable=None):
        batch = batches.of(first, last, rows, "hints" in trace.tables)
        for law in EXECUTION_LAWS:
            yield from law(batch)
    for rays in traversal_batches(trace):
        for traversal_law in TRAVERSAL_LAWS:
            yield from traversal_law(rays)
