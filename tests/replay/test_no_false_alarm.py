"""The watchdog gives up no replay that only takes long."""

from pathlib import Path

from tests.replay.odd_gpus import replay_all


def test_a_thousand_odd_gpus_end(tmp_path: Path) -> None:
    assert replay_all(tmp_path, 1, 1000) > 100_000
