"""The golden cases are what their oracle says, and the oracle's formats are those of NumPy and ml_dtypes."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from golden import formats  # noqa: E402

DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
}


def test_cases_are_what_the_oracle_says():
    command = [sys.executable, str(TESTS / "golden" / "make.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.parametrize("name", DTYPES)
def test_formats(name):
    """Every finite code of the small formats decodes as ml_dtypes does; 2,000 doubles round as it rounds."""
    form, dtype = formats.FLOATS[name], DTYPES[name]
    word = np.dtype(f"u{form.bits // 8}")
    generator = np.random.default_rng(5)
    codes = np.arange(1 << form.bits) if form.bits < 32 else generator.integers(0, 1 << 32, 5000)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        decoded = codes.astype(word).view(dtype).astype(np.float64).tolist()
    for code, got in zip(codes.tolist(), decoded, strict=True):
        if np.isfinite(got):
            sign, magnitude = form.decode(code)
            assert float(magnitude) == abs(got) and sign == np.signbit(got)
    values = generator.uniform(-2, 2, 2000) * 2.0 ** generator.integers(-form.bias - 8, 8, 2000)
    rounded = values.astype(np.float32).astype(dtype).view(word).tolist()
    for x, code in zip(values.astype(np.float32).tolist(), rounded, strict=True):
        if abs(x) > form.decode(form.largest)[1]:
            continue  # ml_dtypes gives NaN where the cast saturates
        exact = formats.number(Fraction(x), int(np.signbit(x)))
        assert form.encode(exact) == code, (name, x)
