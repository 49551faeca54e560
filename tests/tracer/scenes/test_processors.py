"""Scenes, their inverse matrices and cameras: the same bits whatever the processor's vector instructions are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PLAIN = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR FMA3 AVX2 F16C AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL"
WITHOUT = "-AVX_Usable,-AVX2_Usable,-FMA_Usable,-AVX2,-FMA,-AVX512F"
MADE = """
import hashlib
import numpy as np
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.shading import picture, upload
from rayplay.tracer import scenes
for name in ("cornell", "wknd", "forest", "terrain"):
    scene = scenes.load(name)
    parts = [mesh.vertices for mesh in scene.meshes] + [texture.alpha for texture in scene.textures]
    places = np.array([instance.object_to_world for instance in scene.instances]).reshape(-1, 3, 4)
    parts += [places, upload.inverse_maps(places), *scene.bounds()]
    camera = np.concatenate([np.ravel(value) for value in upload.camera_values(scene.camera, 33, 17).values()])
    parts.append(camera.astype(np.float32))
    print(name, hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest())
print(hashlib.sha256(picture.to_srgb(np.linspace(-1, 2, 99999, dtype=np.float32)).tobytes()).hexdigest())
"""


def made(**settings: str) -> str:
    """Digests of the bundled scenes, as a process with these settings makes them."""
    quiet = {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    run = subprocess.run(
        [sys.executable, "-c", MADE], capture_output=True, text=True, env=os.environ | quiet | settings
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("kernel", ["Prescott", "Haswell"])
def test_a_scene_does_not_depend_on_the_processor(kernel: str) -> None:
    here = made()
    assert len(here.split()) == 9
    plain = {"NPY_DISABLE_CPU_FEATURES": PLAIN, "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={WITHOUT}"}
    assert made(OPENBLAS_CORETYPE=kernel, **plain) == here
