"""Means over seeds with 95 % intervals (C29): Student's t, since seeds are few."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
import statistics
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

    @property
    def is_steady(self) -> bool:
        """Several samples, and all the same: whatever told them apart had no effect, and nothing is known of what
        would have had one."""
        return self.samples > 1 and self.low == self.high


def t_quantile(degrees: int) -> float:
    """The 97.5 % quantile of Student's t; beyond 30 degrees by the expansion around the normal quantile."""
    if degrees < 1:
        raise ValueError("an interval needs two samples")
    if degrees <= len(_T):
        return _T[degrees - 1]
    z = _NORMAL
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Interval:
    """mean(numerators) / mean(denominators), all positive, with an interval that counts the spread of both: that of
    the logarithm by the delta method, with Welch's degrees of freedom.

    >>> ratio(cycles_of_nonspec, cycles_of_spec)  # how many times faster SPEC is
    """
    return geometric_mean([(numerators, denominators)])


def geometric_mean(ratios: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Interval:
    """The geometric mean of the ratios of means of independent pairs of samples, as in ratio()."""
    if not ratios:
        raise ValueError("no ratios")
    signs = [(samples, sign) for pair in ratios for samples, sign in zip(pair, (1, -1), strict=True)]
    means = [interval(samples).mean for samples, _ in signs]
    center = math.fsum(sign * math.log(m) for m, (_, sign) in zip(means, signs, strict=True)) / len(ratios)
    count = min(len(samples) for samples, _ in signs)
    if count == 1:
        return Interval(math.exp(center), None, None, 1)
    # Variance of each mean's logarithm, with its degrees of freedom.
    parts = []
    for mean, (samples, _) in zip(means, signs, strict=True):
        n = len(samples)
        parts.append((math.fsum((s - mean) ** 2 for s in samples) / (n - 1) / n / mean**2, n - 1))
    variance = math.fsum(v for v, _ in parts)
    if variance == 0:
        return Interval(math.exp(center), math.exp(center), math.exp(center), count)
    degrees = max(1, int(variance**2 / math.fsum(v**2 / d for v, d in parts)))
    half = t_quantile(degrees) * math.sqrt(variance) / len(ratios)
    return Interval(math.exp(center), math.exp(center - half), math.exp(center + half), count)


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


def median_interval(samples: Sequence[float]) -> Interval:
    """The median with its 95 % interval by the samples' order, whatever they are spread by: each is as likely above it
    as below. Fewer than six have none. @raises ValueError if there are no samples."""
    if not samples:
        raise ValueError("no samples")
    ordered, n = sorted(samples), len(samples)
    left_out, chance = 0, 2 / 2**n  # of the median below as many of the smallest, or above as many of the largest
    while chance <= 0.05:
        left_out += 1
        chance += 2 * math.comb(n, left_out) / 2**n
    median = statistics.median(ordered)
    if left_out == 0:
        return Interval(median, None, None, n)
    return Interval(median, ordered[left_out - 1], ordered[n - left_out], n)


#: Said in place of an interval of no width.
STEADY = "the seed had no effect"


def relative_spread(i: Interval, none: str = "") -> str:
    """Half of the 95 % interval as a share of the mean, for a table."""
    if i.is_steady:
        return STEADY
    if i.half_width is None or not i.mean:
        return none
    share = i.half_width / i.mean
    return "< 0.1%" if share < 0.0005 else f"{share:.1%}"
