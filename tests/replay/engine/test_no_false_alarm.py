"""The watchdog gives up no replay that only takes long; ``make fuzz`` replays a thousand."""

from pathlib import Path

from tests.replay.engine.odd_gpus import replay_all


def test_odd_gpus_end(tmp_path: Path) -> None:
    assert replay_all(tmp_path, 1, 100) > 10_000
