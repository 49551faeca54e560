"""The public shader files of Vulkan-Sim, where the data folder has them: all of them parse and lower.

They lie in ``RAYPLAY_DATA/vulkan-sim-shaders``, in the folders in which they are published.
"""

from pathlib import Path

import pytest

from rayplay.ptx.vulkansim.pipeline import lower_pipeline
from rayplay.ptx.vulkansim.reader import read_shader
from rayplay.tracer.scenes.resolve import data_folder

FOLDER = data_folder() / "vulkan-sim-shaders"


def folders() -> list[Path]:
    return sorted({file.parent for file in FOLDER.rglob("MESA_SHADER_*.ptx")})


def test_every_file_parses_and_lowers() -> None:
    if not folders():
        pytest.skip(f"the data folder has no shaders of Vulkan-Sim in {FOLDER.name}")
    for folder in folders():
        shaders = [read_shader(file) for file in sorted(folder.glob("MESA_SHADER_*.ptx"))]
        pipeline = lower_pipeline(shaders, {}, {}, str(folder))
        assert len(pipeline.names) == len(shaders)
