"""Replaces triton._C.libtriton.nvidia.cublas under --pretend-cuda: Triton's programs measure themselves
against it."""

from __future__ import annotations

from triton_runner import _settings

_TILE = 128


class CublasLt:
    """Products in f32, rounded once to the type of the result."""

    def __init__(self, workspace):
        pass

    def matmul(self, a, b, c):
        """c = a @ b.T"""
        self._check(a, b, c)
        self._into(c, a, b, lambda product, part: product)

    def gemm(self, a, b, c, d, alpha, beta):
        """d = alpha * a @ b.T + beta * c"""
        self._check(a, b, c)
        self._check(a, b, d)
        self._into(d, a, b, lambda product, part: alpha * product + beta * c[part].float())

    @staticmethod
    def _check(a, b, c):
        if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[1]:
            raise RuntimeError(
                f"a is {tuple(a.shape)} and b {tuple(b.shape)}, and should be (M, K) and (N, K)"
            )
        if tuple(c.shape) != (a.shape[0], b.shape[0]):
            raise RuntimeError(f"a result is {tuple(c.shape)}, and should be {(a.shape[0], b.shape[0])}")

    @staticmethod
    def _into(out, a, b, combine):
        # If launches are shortened, so is this: as many tiles as programs would run.
        programs = _settings.current().programs
        rows, columns = (programs * _TILE, _TILE) if programs else out.shape
        part = (slice(rows), slice(columns))
        out[part] = combine(a[:rows].float() @ b[:columns].float().T, part).to(out.dtype)


def install() -> None:
    from triton._C.libtriton import nvidia

    if hasattr(nvidia, "cublas"):
        nvidia.cublas.CublasLt = CublasLt
