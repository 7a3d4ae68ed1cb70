"""The Triton kernels of mlstm-kernels, forward and backward, beside the library's own torch versions with the
same backward pass by hand."""

from gradients import both, draws


def cases(device: str):
    from mlstm_kernels.torch import get_mlstm_kernel, get_mlstm_step_kernel

    randn, _ = draws(device)
    q, k, v = (randn(1, 2, 128, 32) for _ in range(3))
    i, f = randn(1, 2, 128), randn(1, 2, 128) + 3

    def kernel(name):
        options = {"chunk_size": 64} if name.startswith("chunkwise") else {}
        return lambda q, k, v, i, f: get_mlstm_kernel(name)(q=q, k=k, v=v, i=i, f=f, **options)

    for name, native in {
        "chunkwise--triton_limit_chunk": "chunkwise--native_custbw",
        "chunkwise--triton_xl_chunk": "chunkwise--native_custbw",
        "chunkwise--triton_xl_chunk_siging": "parallel--native_siging_custbw",
        "parallel--triton_limit_headdim": "parallel--native_custbw",
    }.items():  # products of f32 are tf32
        yield (
            name, lambda n=name: both(kernel(n), q, k, v, i, f),
            lambda n=native: both(kernel(n), q, k, v, i, f), 1e-2,
        )  # fmt: skip

    now = {"q": q[:, :, 0], "k": k[:, :, 0], "v": v[:, :, 0], "i": i[:, :, :1], "f": f[:, :, :1]}
    state = {"c": randn(1, 2, 32, 32), "n": randn(1, 2, 32), "m": randn(1, 2, 1)}
    yield (
        "step", lambda: get_mlstm_step_kernel("triton")(**now, **state),
        lambda: get_mlstm_step_kernel("native")(**now, **state),
    )  # fmt: skip
