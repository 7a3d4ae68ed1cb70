"""Tests verify's answers about results that the target's hardware rounds far from the exact ones."""

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402


@triton_runner.jit
def product(a, b, c, K: tl.constexpr):
    i, k = tl.arange(0, 16), tl.arange(0, K)
    acc = tl.dot(tl.load(a + i[:, None] * K + k[None, :]), tl.load(b + i[None, :] * K + k[:, None]))
    tl.store(c + i[:, None] * 16 + i[None, :], acc)


def verdict(first, target, **options):
    """Judges a product whose first term is so large, and the others are 3/32."""
    a, b = torch.full((16, 256), 1 / 32), torch.full((16, 256), 3.0)
    a[:, 0], b[:, 0] = first, first
    a, b = a.to(torch.float8_e5m2), b.to(torch.float8_e5m2)
    args = [a, b, torch.zeros(16, 16)]
    constants = {"K": 256, "num_warps": 1}
    return triton_runner.verify(product, args, constants, grid=(1,), target=target, **options)


def test_fp8_sums_in_fewer_bits_are_a_warning():
    judged = verdict(24, "cuda:89")
    (found,) = [finding for finding in judged.findings if finding["check"] == "rounding"]
    assert judged.status == 0 and found["severity"] == "warning" and found["levels"] == ["ptx"]
    assert found["message"].startswith(
        "the target's tensor cores sum fp8 in fewer bits: 'c' is off by up to 1.3 %"
    )
    assert "max_num_imprecise_acc" in found["text"] and (found["op"], found["line"]) == ("tt.dot", 14)
    exact, rounded = found["evidence"]["numbers"]
    assert exact == 576 + 255 * 3 / 32 and rounded < exact
    strict = verdict(24, "cuda:89", strict=True)
    assert strict.status == 1


@pytest.mark.parametrize(("first", "target"), [(0.5, "cuda:89"), (24, "cuda:80")])
def test_sums_that_lose_nothing_are_not_mentioned(first, target):
    judged = verdict(first, target)
    assert judged.status == 0
    assert not any(finding["check"] == "rounding" for finding in judged.findings)
