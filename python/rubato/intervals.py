"""Means over seeds with 95 % intervals (C29): Student's t, since seeds are few."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

# 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom.
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_NORMAL = 1.959964


class Interval(NamedTuple):
    """A mean and its 95 % confidence interval; with one sample there is none (low and high are None)."""

    mean: float
    low: float | None
    high: float | None
    samples: int

    @property
    def half_width(self) -> float | None:
        return None if self.high is None else self.high - self.mean


def t_quantile(degrees: int) -> float:
    """The 97.5 % quantile of Student's t; beyond 30 degrees by the expansion around the normal quantile."""
    if degrees < 1:
        raise ValueError("an interval needs two samples")
    if degrees <= len(_T):
        return _T[degrees - 1]
    z = _NORMAL
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def interval(samples: Sequence[float]) -> Interval:
    """@raises ValueError if there are no samples."""
    n = len(samples)
    if n == 0:
        raise ValueError("no samples")
    mean = math.fsum(samples) / n
    if n == 1:
        return Interval(mean, None, None, 1)
    variance = math.fsum((s - mean) ** 2 for s in samples) / (n - 1)
    half = t_quantile(n - 1) * math.sqrt(variance / n)
    return Interval(mean, mean - half, mean + half, n)
