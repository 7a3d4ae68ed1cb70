"""Judges samples: how two rows compare, and how sure that is.

Rows are measured in rounds, one sample of each row a round, so that whatever disturbs the machine disturbs
all rows of a round. Two rows are therefore compared round by round: the quotient of a round does not know of
a clock that drifts over the run. The interval is that of a bootstrap of the quotients' median. Whole blocks
of neighbouring rounds are drawn, as neighbours are alike.
"""

from __future__ import annotations

import dataclasses

import numpy

CONFIDENCE = 0.95
RESAMPLES = 4000
LEAST_ROUNDS = 10  # of fewer a median's interval says nothing

FASTER, SLOWER, UNKNOWN = "faster", "slower", "cannot tell"


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How long a row takes, as a multiple of the baseline's time: the quotients' median and its interval."""

    ratio: float
    low: float
    high: float
    rounds: int

    @property
    def verdict(self) -> str:
        """Faster or slower only where the whole interval is on one side of 1."""
        if self.rounds < LEAST_ROUNDS or self.low <= 1 <= self.high:
            return UNKNOWN
        return FASTER if self.high < 1 else SLOWER

    def as_dict(self) -> dict:
        return {**dataclasses.asdict(self), "verdict": self.verdict}


def _block_draws(count: int, generator) -> numpy.ndarray:
    """Rows of `count` indices: blocks of neighbours, which go around the end."""
    length = max(1, round(count ** (1 / 3)))
    starts = generator.integers(0, count, (RESAMPLES, -(-count // length)))
    drawn = (starts[:, :, None] + numpy.arange(length)) % count
    return drawn.reshape(RESAMPLES, -1)[:, :count]


def median_interval(samples, seed: int = 0) -> tuple[float, float, float]:
    """The median with the ends of its interval."""
    values = numpy.asarray(samples, dtype=float)
    medians = numpy.median(values[_block_draws(len(values), numpy.random.default_rng(seed))], axis=1)
    low, high = numpy.quantile(medians, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(numpy.median(values)), float(low), float(high)


def compare(samples, baseline, seed: int = 0) -> Comparison:
    """Samples of a row against those of the baseline in the same rounds."""
    if len(samples) != len(baseline) or not len(samples):
        raise ValueError(f"{len(samples)} and {len(baseline)} samples are not of the same rounds")
    quotients = numpy.asarray(samples, dtype=float) / numpy.asarray(baseline, dtype=float)
    return Comparison(*median_interval(quotients, seed), len(quotients))
