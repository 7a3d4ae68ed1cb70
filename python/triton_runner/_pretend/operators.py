"""Replaces, under --pretend-cuda, torch's operators on the CPU that differ from CUDA's in types.

Sums: CUDA sums 16-bit numbers in f32 and rounds once. On the CPU some gradients are summed in 16 bits (that
of a layer norm's weight is off by 0.07 in f16, where rounding once is off by 0.004), and products, summed
right, take 10 to 30 times as long as in f32 where oneDNN lacks instructions for the type. Here they take f32.

Types: some of CUDA's operators take types for which torch's build for the CPU raises NotImplementedError (a
histogram of integers, pooling and resizing of 16-bit numbers, their Fourier transforms). Here they are
computed in a wider type and rounded once. The list is what torch's own table of tests says of both devices
(torch.testing, op_db: dtypesIfCUDA without dtypes)."""

from __future__ import annotations

import warnings

import torch

_HALVES = (torch.float16, torch.bfloat16)

# Operators summed in f32, the argument that decides the type of their results besides the first, and how many
# results have that type: CUDA keeps the mean and deviation of a layer norm in f32.
_SUMS = {
    "native_layer_norm": (2, 1),
    "native_layer_norm_backward": (5, 3),
    "embedding_dense_backward": (0, 1),
    "convolution_backward": (2, 3),
}
_PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")

# Operators that have 16-bit types on CUDA alone.
_HALVES_LACK = (
    *("avg_pool3d", "avg_pool3d_backward", "multi_margin_loss", "multi_margin_loss_backward"),
    *("multilabel_margin_loss_forward", "multilabel_margin_loss_backward"),
    *("_upsample_bilinear2d_aa", "_upsample_bilinear2d_aa_backward"),
    *("_upsample_bicubic2d_aa", "_upsample_bicubic2d_aa_backward"),
)
_INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
_FFTS = [f"fft_{kind}{size}" for kind in ("fft", "ifft", "rfft", "irfft") for size in ("", "2", "n")]
_FFTS += ["fft_hfft", "fft_ihfft"]
_WIDE = {torch.float16: torch.float32, torch.complex32: torch.complex64}
_library = None


def _wide(value):
    return value.float() if isinstance(value, torch.Tensor) and value.dtype in _HALVES else value


def _sum(kernel, decides, halves):
    def in_f32(keys, *args, **options):
        half = args[0].dtype
        other = args[decides]
        if half not in _HALVES or (other is not None and other.dtype != half):
            return kernel.call_boxed(keys, *args, **options)
        result = kernel.call_boxed(keys, *map(_wide, args), **options)
        if isinstance(result, torch.Tensor):
            return result.to(half)
        return tuple(r.to(half) if r is not None and i < halves else r for i, r in enumerate(result))

    return in_f32


def _product(kernel, slow):
    def in_f32(keys, *args, **options):
        half = args[0].dtype
        if half not in slow:
            return kernel.call_boxed(keys, *args, **options)
        result = kernel.call_boxed(keys, *map(_wide, args), **options)
        return result.to(half) if isinstance(result, torch.Tensor) else tuple(r.to(half) for r in result)

    return in_f32


def _product_into(kernel, kernel_into, slow):
    def in_f32(keys, *args, out, **options):
        half = args[0].dtype
        if half not in slow or out.dtype != half:
            return kernel_into.call_boxed(keys, *args, out=out, **options)
        result = kernel.call_boxed(keys, *map(_wide, args), **options)
        if out.shape != result.shape:
            out.resize_(result.shape)
        return out.copy_(result)

    return in_f32


def _randomly_leaky(kernel):
    """rrelu_with_noise, which writes its second argument."""

    def in_f32(keys, x, noise, *args, **options):
        if x.dtype != torch.float16:
            return kernel.call_boxed(keys, x, noise, *args, **options)
        wide = noise.float()
        result = kernel.call_boxed(keys, x.float(), wide, *args, **options)
        noise.copy_(wide)
        return result.half()

    return in_f32


def _histogram(x, bins=100, least=0, most=0):
    """histc of integers, in whole numbers as CUDA counts them: the last bin has both of its ends."""
    least, most = int(least), int(most)
    if least == most and x.numel():
        least, most = int(x.min()), int(x.max())
    if least == most:
        least, most = least - 1, most + 1
    if bins <= 0 or least > most:
        raise RuntimeError(f"histc: got {bins} bins from {least} to {most}; it needs bins, and max over min")
    inside = x[(x >= least) & (x <= most)].long()
    at = ((inside - least) * bins // (most - least)).clamp(max=bins - 1)
    return torch.bincount(at, minlength=bins).to(x.dtype)


def _histc(kernel):
    def of_integers(keys, x, *args, **options):
        if x.dtype not in _INTEGERS:
            return kernel.call_boxed(keys, x, *args, **options)
        return _histogram(x, *args)

    return of_integers


def _histc_into(kernel):
    def of_integers(keys, x, *args, out, **options):
        if x.dtype not in _INTEGERS:
            return kernel.call_boxed(keys, x, *args, out=out, **options)
        return out.resize_(args[0] if args else 100).copy_(_histogram(x, *args))

    return of_integers


def _trace(kernel):
    def of_booleans(keys, x):
        return kernel.call_boxed(keys, x.long() if x.dtype == torch.bool else x)

    return of_booleans


def _flip(kernel):
    """CUDA reverses numbers of any type; the CPU lacks those of 8 bits and of unsigned integers."""
    as_integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    lacking = {getattr(torch, f"uint{bits}", None) for bits in (16, 32, 64)}

    def of_bits(keys, x, dims):
        if x.dtype not in lacking and not (x.dtype.is_floating_point and x.itemsize == 1):
            return kernel.call_boxed(keys, x, dims)
        return kernel.call_boxed(keys, x.view(as_integers[x.itemsize]), dims).view(x.dtype)

    return of_bits


_TYPES_LACK = {
    "histc": _histc,
    "histc.out": _histc_into,
    "trace": _trace,
    "flip": _flip,
    "rrelu_with_noise": _randomly_leaky,
}


def _fourier(name, kernel):
    """A Fourier transform of halves; cuFFT has those of sizes that are powers of two."""
    takes_half = name in ("fft_rfft", "fft_rfft2", "fft_rfftn", "fft_ihfft")  # of the last size in its result
    default = {"2": (-2, -1), "n": None}.get(name[-1], -1)

    def in_f32(keys, x, size=None, dim=default, *args, **options):
        if x.dtype not in _WIDE:
            return kernel.call_boxed(keys, x, size, dim, *args, **options)
        result = kernel.call_boxed(keys, x.to(_WIDE[x.dtype]), size, dim, *args, **options)
        given = size if isinstance(size, (list, tuple)) else [] if size is None else [size]
        dims = (
            range(-len(given or x.shape), 0)
            if dim is None
            else dim
            if isinstance(dim, (list, tuple))
            else [dim]
        )
        sizes = [result.shape[d] for d in dims]
        if takes_half:
            sizes[-1] = given[-1] if given else x.shape[dims[-1]]
        if any(n & (n - 1) for n in sizes):
            raise RuntimeError(
                f"torch.{name.replace('_', '.', 1)} of {x.dtype} has a signal of {sizes}: cuFFT transforms "
                "halves whose sizes are powers of two. Convert with .float() first"
            )
        return result.to({wide: narrow for narrow, wide in _WIDE.items()}[result.dtype])

    return in_f32


def install() -> None:
    """Registers them for the CPU, for the rest of the process; torch of before 2.10 keeps its own."""
    global _library
    find = getattr(torch.library, "get_kernel", None)
    if _library is not None or find is None:
        return
    fast = {
        torch.float16: torch.ops.mkldnn._is_mkldnn_fp16_supported,
        torch.bfloat16: torch.ops.mkldnn._is_mkldnn_bf16_supported,
    }
    slow = tuple(half for half, has in fast.items() if not has())
    overrides = {name: _sum(find(f"aten::{name}", "CPU"), *how) for name, how in _SUMS.items()}
    for name in _PRODUCTS:
        kernel, into = find(f"aten::{name}", "CPU"), find(f"aten::{name}.out", "CPU")
        overrides[name] = _product(kernel, slow)
        overrides[f"{name}.out"] = _product_into(kernel, into, slow)
    for name in _HALVES_LACK:
        overrides[name] = _product(find(f"aten::{name}", "CPU"), _HALVES)
    for name, replace in _TYPES_LACK.items():
        overrides[name] = replace(find(f"aten::{name}", "CPU"))
    composed = {name: _fourier(name, find(f"aten::{name}", "CPU")) for name in _FFTS}
    _library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "overriding a previously registered kernel"
        for name, override in overrides.items():
            _library.impl(name, override, "CPU", with_keyset=True)
        for name, override in composed.items():
            _library.impl(name, override, "CompositeImplicitAutograd", with_keyset=True)
