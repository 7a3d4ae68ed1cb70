"""Block-sparse matrix products of stanford-stk, in every orientation, beside dense products in f32."""

import itertools

import torch
from gradients import draws


def cases(device: str):
    import stk

    randn, _ = draws("cpu", torch.float16)
    torch.manual_seed(2)  # of the library's masks

    def sparse(rows, cols):
        dense = randn(rows, cols) * stk.random.dense_mask(rows, cols, 0.5, 128).half()
        return stk.ops.to_sparse(dense, 128).to(device), dense.to(device)

    def turned(x, yes):
        return x.t() if yes else x

    for a_turned, b_turned in itertools.product((False, True), (False, True)):
        case = f"{'t' if a_turned else 'n'}{'t' if b_turned else 'n'}"
        a, a_dense = sparse(*((384, 256) if a_turned else (256, 384)))
        b = randn(*((128, 384) if b_turned else (384, 128))).to(device)
        yield (
            f"dsd-{case}", lambda a=a, b=b, s=a_turned, t=b_turned: stk.ops.dsd(turned(a, s), turned(b, t)),
            lambda a=a_dense, b=b, s=a_turned, t=b_turned: turned(a, s).float() @ turned(b, t).float(), 2e-3,
        )  # fmt: skip
        c = randn(*((256, 128) if a_turned else (128, 256))).to(device)
        d, d_dense = sparse(*((384, 256) if b_turned else (256, 384)))
        yield (
            f"dds-{case}", lambda a=c, b=d, s=a_turned, t=b_turned: stk.ops.dds(turned(a, s), turned(b, t)),
            lambda a=c, b=d_dense, s=a_turned, t=b_turned: turned(a, s).float() @ turned(b, t).float(), 2e-3,
        )  # fmt: skip
        where, where_dense = sparse(256, 384)
        e = randn(*((128, 256) if a_turned else (256, 128))).to(device)
        f = randn(*((384, 128) if b_turned else (128, 384))).to(device)
        yield (
            f"sdd-{case}",
            lambda a=e, b=f, w=where, s=a_turned, t=b_turned: stk.ops.to_dense(
                stk.ops.sdd(turned(a, s), turned(b, t), w)),
            lambda a=e, b=f, w=where_dense, s=a_turned, t=b_turned: (
                turned(a, s).float() @ turned(b, t).float()) * (w != 0), 2e-3,
        )  # fmt: skip
