"""A picture whose vector shows that a model is still the same."""

from __future__ import annotations

import numpy as np

from kg_api.embed.image.port import Pixels, Rendering

_SKY, _GROUND, _HORIZON = (70, 130, 220), (60, 140, 50), 0.6
_SUN, _SUN_AT, _SUN_RADIUS = (250, 210, 40), (0.8, 0.2), 0.1
_HOUSE, _HOUSE_AT, _HOUSE_HALF = (230, 220, 200), (0.4, 0.6), 0.16
_ROOF, _ROOF_TOP, _ROOF_HEIGHT = (180, 50, 40), 0.24, 0.2


def probe_picture(rendering: Rendering) -> Pixels:
    """Draw a house in a field under the sun, in the size that a rendering gives; always the same bytes.

    It is drawn and not read: nothing has to be unpacked, and no file can be lost.
    """
    down, across = np.mgrid[0 : rendering.height, 0 : rendering.width]
    y, x = (2 * down + 1) / (2 * rendering.height), (2 * across + 1) / (2 * rendering.width)
    drawn = np.where((y < _HORIZON)[..., None], _SKY, _GROUND) * (0.6 + 0.4 * y)[..., None]
    drawn[np.hypot(x - _SUN_AT[0], y - _SUN_AT[1]) < _SUN_RADIUS] = _SUN
    drawn[np.maximum(abs(x - _HOUSE_AT[0]), abs(y - _HOUSE_AT[1])) < _HOUSE_HALF] = _HOUSE
    below = y - _ROOF_TOP
    drawn[(abs(x - _HOUSE_AT[0]) < below) & (below < _ROOF_HEIGHT)] = _ROOF
    return drawn.astype(np.uint8)
