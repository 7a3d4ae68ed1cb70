"""The golden cases are what their oracle says, and the oracle's formats are those of NumPy and ml_dtypes."""

import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

TESTS = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS))

from golden import formats, make  # noqa: E402

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
    different = make.write()
    assert not different, f"{different}: python tests/golden/make.py shows the difference"


def test_a_case_that_is_made_otherwise_is_shown(tmp_path):
    """By a copy of the scripts with one family and a history of its own, which is changed."""
    golden = tmp_path / "tests" / "golden"
    shutil.copytree(TESTS / "golden", golden, ignore=shutil.ignore_patterns("__pycache__", "ptx-hw"))
    script, family = golden / "make.py", golden / "im2col.py"
    text, count = re.subn(r"FAMILIES = \[.*?\]", 'FAMILIES = ["im2col"]', script.read_text(), flags=re.DOTALL)
    assert count == 1
    script.write_text(text)
    run = lambda *more: subprocess.run(  # noqa: E731
        [sys.executable, str(script), *more], capture_output=True, text=True
    )
    assert run("--update").returncode == 0
    git = ["git", "-C", str(tmp_path), "-c", "user.name=test", "-c", "user.email=test@localhost"]
    for command in (["init", "-q"], ["add", "tests"], ["commit", "-q", "-m", "digests"]):
        subprocess.run([*git, *command], check=True)
    family.write_text(family.read_text().replace("Columns of signals: a", "Columns of a signal: a"))
    done = run()
    assert done.returncode == 1, done.stdout + done.stderr
    (name,) = (line.split()[1] for line in done.stdout.splitlines() if line.startswith("differs "))
    lines = done.stdout.splitlines()
    assert f"---- expected {name}" in lines
    assert any(line.startswith("+// Columns of a signal: ") for line in lines), done.stdout[-2000:]
    assert run("--update").returncode == 0 and run().returncode == 0


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
