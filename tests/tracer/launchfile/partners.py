"""The kernels of ``examples/partners`` in numpy, double precision."""

import numpy as np

Buffers = dict[str, np.ndarray]
Array = np.ndarray


def hologram(before: Buffers, after: Buffers) -> None:
    (height, width), weights = before["phase"].shape, np.ones(8)
    y, x = np.mgrid[:height, :width] - 0.5 * height
    turns = [a * x + b * y + c * (x * x + y * y) for a, b, c in before["spots"].astype(np.float64)]
    phase = _sent_back(weights, before["spot_field"][:, 0].astype(np.float64), turns)
    for _ in range(2):
        field = np.array([np.exp(2j * np.pi * (phase - each)).mean() for each in turns])
        weights *= np.abs(field).mean() / np.abs(field)
        phase = _sent_back(weights, np.angle(field) / (2 * np.pi), turns)
    np.testing.assert_allclose(after["spot_field"][:, 1], np.abs(field), rtol=1e-3)
    np.testing.assert_allclose(after["weights"], weights, rtol=1e-2)
    away = after["phase"] - phase
    assert (np.abs(away - np.rint(away)) < 1e-3).mean() > 0.999
    assert (np.abs(field) ** 2).sum() > 0.8, "light that reaches a spot"


def _sent_back(weights: Array, phases: Array, turns: list[Array]) -> Array:
    """Phase, in turns, of the light that all spots send back to each pixel."""
    back = sum(w * np.exp(2j * np.pi * (a + each)) for w, a, each in zip(weights, phases, turns, strict=True))
    return np.angle(back) / (2 * np.pi)


def odometry(before: Buffers, after: Buffers) -> None:
    height, width = after["before"].shape
    y, x = np.mgrid[:height, :width].astype(np.float64)
    raw = [_wall(x, y), _wall(x + 3.25, y - 1.75)]
    np.testing.assert_allclose(after["raw_after"], raw[1], atol=0.01)
    u, v = (x - width / 2) / (width / 2), (y - height / 2) / (width / 2)
    scale = 1 + (u * u + v * v) * (0.02 + 0.005 * (u * u + v * v))
    place = (width / 2 * (1 + u * scale), height / 2 + width / 2 * v * scale)
    levels = [[_bilinear(image, *place)] for image in raw]
    for name, images in zip(("before", "after"), levels, strict=True):
        np.testing.assert_allclose(after[name], images[0], atol=0.05)
        for level in (1, 2, 3):
            images.append(_halved(images[-1]))
            np.testing.assert_allclose(after[f"{name}_{level}"], images[level], atol=0.05)
    response = _harris(levels[0][0])
    np.testing.assert_allclose(after["response"], response, rtol=1e-3, atol=1e-3 * np.abs(response).max())
    corners = after["corners"].reshape(-1, 2).astype(int)
    for corner, tile in zip(corners, np.ndindex(height // 32, width // 32), strict=True):
        assert (corner[::-1] // 32 == tile).all()
        inside = response[8 : height - 8, 8 : width - 8][max(tile[0] * 32 - 8, 0) : tile[0] * 32 + 24]
        best = inside[:, max(tile[1] * 32 - 8, 0) : tile[1] * 32 + 24].max()
        assert response[corner[1], corner[0]] >= best - 1e-3 * np.abs(response).max()
    middle = (np.abs(corners - [width / 2, height / 2]) < [width / 4, height / 4]).all(axis=1)
    flow = after["flow"].reshape(-1, 2)[middle]
    lens = np.median(np.abs(flow - [-3.25, 1.75]), axis=0)
    assert (lens < 0.15).all(), "the motion of the camera, bent a little by the lens"


def _wall(x: Array, y: Array) -> Array:
    return 128 + 70 * np.sin(0.11 * x) * np.sin(0.13 * y) + 50 * np.sin(0.29 * x + 1) * np.sin(0.31 * y + 2)


def _bilinear(image: Array, x: Array, y: Array) -> Array:
    height, width = image.shape
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    u, v = x - left, y - top
    columns, rows = ([np.clip(at + k, 0, size - 1) for k in (0, 1)] for at, size in ((left, width), (top, height)))
    above, below = (image[row, columns[0]] * (1 - u) + image[row, columns[1]] * u for row in rows)
    return above * (1 - v) + below * v


def _halved(image: Array) -> Array:
    weights = np.array([1, 4, 6, 4, 1]) / 16
    wide = np.pad(image, 2, "edge")
    down = sum(w * wide[k : k + image.shape[0]] for k, w in enumerate(weights))
    return sum(w * down[:, k : k + image.shape[1]] for k, w in enumerate(weights))[::2, ::2]


def _harris(image: Array) -> Array:
    height, width = image.shape
    wide = np.pad(image, 1, "edge")
    along = sum(w * (wide[k : k + height, 2:] - wide[k : k + height, :-2]) for k, w in enumerate((1, 2, 1)))
    down = sum(w * (wide[2:, k : k + width] - wide[:-2, k : k + width]) for k, w in enumerate((1, 2, 1)))
    a, b, c = (_summed(product) for product in (along * along, along * down, down * down))
    return a * c - b * b - 0.04 * (a + c) ** 2


def _summed(image: Array) -> Array:
    wide = np.pad(image, 2, "edge")
    down = sum(wide[k : k + image.shape[0]] for k in range(5))
    return sum(down[:, k : k + image.shape[1]] for k in range(5))


def segmentation(before: Buffers, after: Buffers) -> None:
    def convolved(name: str, image: Array) -> Array:
        weights = before[f"{name}_weights"].astype(np.float64)
        side = weights.shape[-1]
        wide = np.pad(image, ((0, 0), (side // 2,) * 2, (side // 2,) * 2))
        patches = np.lib.stride_tricks.sliding_window_view(wide, (side, side), axis=(1, 2))
        found = np.einsum("oiyx,ihwyx->ohw", weights, patches, optimize=True) + before[f"{name}_bias"][:, None, None]
        if name != "scores":
            found = np.where(found > 0, found, 0.01 * found)
        np.testing.assert_allclose(after[name], found, rtol=1e-3, atol=1e-4 * np.abs(found).max())
        return found

    def pooled(image: Array) -> Array:
        return image.reshape(len(image), image.shape[1] // 2, 2, image.shape[2] // 2, 2).mean(axis=(2, 4))

    def beside(small: Array, same: Array) -> Array:
        return np.concatenate([small.repeat(2, axis=1).repeat(2, axis=2), same])

    top = convolved("down_0b", convolved("down_0a", before["picture"].astype(np.float64)))
    middle = convolved("down_1b", convolved("down_1a", pooled(top)))
    bottom = convolved("down_2b", convolved("down_2a", pooled(middle)))
    middle = convolved("up_1b", convolved("up_1a", beside(bottom, middle)))
    scores = convolved("scores", convolved("up_0b", convolved("up_0a", beside(middle, top))))
    assert (after["classes"] == after["scores"].argmax(axis=0)).all()
    assert (after["classes"] == scores.argmax(axis=0)).mean() > 0.999
    assert len(np.unique(after["classes"])) > 1
