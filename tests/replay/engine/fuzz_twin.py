"""Random traces and GPUs, the engine against the slow twins.

python -m tests.replay.engine.fuzz_twin SEED COUNT [--model pipeline | characterised]     both models without it
"""

import argparse
import sys
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings

from tests.replay.engine import characterised_trace, twin_cases
from tests.replay.engine.characterised_cases import Case, cases


def fuzz_pipeline(first: int, count: int) -> bool:
    """Whether a trace differs. Even seeds access memory, odd ones do not."""
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + count):
            found = twin_cases.differences(number, Path(folder) / f"{number}", with_memory=number % 2 == 0)
            differing += bool(found)
            print(*found, sep="\n", end="\n" if found else "", flush=True)
    print(f"pipeline: {count} traces, {differing} differ")
    return differing > 0


def fuzz_characterised(first: int, count: int) -> bool:
    """Whether a trace differs; the one that is shown is the smallest that hypothesis found."""

    @seed(first)
    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(cases())
    def check(case: Case) -> None:
        with tempfile.TemporaryDirectory() as folder:
            assert characterised_trace.differences(case, Path(folder)) == []

    try:
        check()
    except AssertionError as error:
        print(error, *getattr(error, "__notes__", ()), sep="\n")
        print(f"characterised: one of at most {count} traces differs")
        return True
    print(f"characterised: {count} traces, 0 differ")
    return False


MODELS = {"pipeline": fuzz_pipeline, "characterised": fuzz_characterised}


def main() -> None:
    """Ends with status 1 and what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--model", choices=MODELS)
    given_options = parser.parse_args()
    chosen = [given_options.model] if given_options.model else MODELS
    differs = [MODELS[model](given_options.seed, given_options.count) for model in chosen]
    sys.exit(any(differs))


if __name__ == "__main__":
    main()
