"""Operators of flag_gems, called as torch calls them: each case is evaluated with the library's function and
with torch's own."""

import torch

# The values are those of inputs(): x and y lie in (0.1, 0.9), s is normal, i and j are small whole numbers.
CASES = """
abs(s) acos(x) angle(s) atan(s) ceil(s) cos(s) cosh(s) exp(x) exp2(x) expm1(x) erf(s) floor_(s.clone())
log(x) log10(x) log1p_(x.clone()) log_sigmoid(s) neg(s) reciprocal(x) relu(s) relu6(s) rsqrt(x) sigmoid(s)
sgn_(s.clone()) silu(s) sin(s) sinh_(x.clone()) sqrt(x) square(s) tan(x) tanh(s) gelu(s) elu(s) celu(s)
selu(s) softplus(s) softshrink(s) hardsigmoid(s) hardswish_(s.clone()) i0(x) logit(x) isfinite(s) isinf(s)
isnan(s) isneginf(s) signbit(s) round(s) nan_to_num(s) asinh_(s.clone()) arcsinh(s) digamma_(x.clone())
absolute(s) bitwise_not(i) logical_not(b) add(x,y) sub(x,y) mul(x,y) true_divide(x,y) pow_tensor_tensor(x,y)
maximum(s,y) minimum(s,y) fmin(s,y) atan2(s,y) copysign(s,y) hypot(s,y) logaddexp(s,y) eq(i,j) ne(i,j)
ge(s,y) gt(s,y) le(s,y) lt(s,y) bitwise_and_tensor(i,j) bitwise_or_tensor(i,j) bitwise_left_shift(i,j)
bitwise_right_shift(i,j) logical_and(b,c) logical_or(b,c) logical_xor(b,c) isclose(x,y) lerp_scalar(x,y,0.3)
addcmul(x,s,y) addcdiv(x,s,y) where_self(b,x,y) threshold(s,0.1,0.2) clamp(s,-0.5,0.5) masked_fill(s,b,0.0)
sum(s) sum_dim(m,[1]) mean(s) mean_dim(m,[1]) amax(m,[1]) prod(x) prod_dim(m,1) max(s) min(s) max_dim(m,1)
min_dim(m,1) argmax(m,1) argmin(m,1) all(b) any(b) all_dim(b,0) any_dim(b,0) aminmax(s) count_nonzero(i)
var_mean(m,[1]) var(m,[1]) std(m,[1]) cumsum(m,1) cummax(m,1) cummin(m,1) vector_norm(m) dot(s,y) vdot(s,y)
trace(q) log_softmax(m,1) softmax(m,1) mm(m,n) mv(m,v) bmm(u,w) addmm(q,m,n) addmv(z,m,v) baddbmm(o,u,w)
kron(g,h) addr(r,z,v) layer_norm(m,(64,),v,v)[0] rms_norm(m,(64,),v) group_norm(t,p,p,2,3,64,1,1e-5)
batch_norm(t,p,p,p,p,False,0.1,1e-5)[0] cat((x,y)) stack((x,y)) hstack((x,y)) vstack((x,y)) flip(m,(0,))
roll(s,3) repeat(m,(2,3)) tile(m,(2,2)) tril(q) triu(q) diag(s) diag_embed(s) pad(m,(1,2)) gather(m,1,k)
index_select(m,0,l) scatter(m,1,k2,m) select_scatter(m,v,0,3) slice_scatter(m,q,1,0,32) index_add(q,0,l,d)
masked_select(s,b) nonzero(b) embedding(m,l) one_hot(l,32) repeat_interleave_self_int(s,3) sort(s) topk(s,5)
isin(i,j) unique_consecutive(i) arange(10) full((3,4),2.5) zeros((3,4)) ones((3,4)) full_like(s,2.0)
zeros_like(s) ones_like(s) eye(5) linspace(0.0,1.0,11) logspace(0.0,2.0,5) glu(m) prelu(t,p) mse_loss(s,y)
nll_loss_forward(f,l) max_pool2d_with_indices(t,[2,2]) avg_pool2d(t,[2,2]) upsample_nearest2d(t,[16,16])
reflection_pad1d(m,[1,2]) replication_pad1d(m,[1,2]) pixel_unshuffle(t,2) conv1d(e,a) conv2d(t,c2)
conv3d(e3,c3) conj_physical(s) contiguous(m) quantile(s,0.5)
"""


def inputs() -> dict:
    """The values that the cases name."""
    rand, randn, randint = torch.rand, torch.randn, torch.randint
    generator = torch.Generator().manual_seed(1)
    option = {"generator": generator}
    values = {
        "x": rand(333, **option) * 0.8 + 0.1, "y": rand(333, **option) * 0.8 + 0.1, "s": randn(333, **option),
        "i": randint(0, 7, (333,), **option), "j": randint(0, 7, (333,), **option),
        "b": randn(333, **option) > 0, "c": randn(333, **option) > 0,
        "m": randn(32, 64, **option), "n": randn(64, 32, **option), "q": randn(32, 32, **option),
        "v": randn(64, **option), "z": randn(32, **option), "u": randn(3, 16, 24, **option),
        "w": randn(3, 24, 16, **option), "o": randn(3, 16, 16, **option), "g": randn(3, 4, **option),
        "h": randn(2, 5, **option), "r": randn(32, 64, **option), "t": randn(2, 3, 8, 8, **option),
        "p": rand(3, **option) + 0.5, "k": randint(0, 32, (32, 64), **option),
        "l": torch.randperm(32, **option)[:8], "d": randn(8, 32, **option), "e": randn(2, 3, 20, **option),
        "a": randn(4, 3, 5, **option), "c2": randn(4, 3, 3, 3, **option),
        "e3": randn(1, 2, 6, 6, 6, **option),
        "c3": randn(3, 2, 3, 3, 3, **option), "f": torch.log_softmax(randn(8, 32, **option), 1),
        "k2": rand(32, 64, **option).argsort(1),  # each once: which of two values scatter keeps is undefined
    }  # fmt: skip
    return values


# The library names these otherwise than torch.
OWN = {
    "pow_tensor_tensor": torch.pow,
    "bitwise_and_tensor": torch.bitwise_and,
    "bitwise_or_tensor": torch.bitwise_or,
    "lerp_scalar": torch.lerp,
    "where_self": torch.where,
    "sum_dim": lambda m, dims: torch.sum(m, dims),
    "mean_dim": lambda m, dims: torch.mean(m, dims),
    "prod_dim": torch.prod,
    "max_dim": torch.max,
    "min_dim": torch.min,
    "all_dim": torch.all,
    "any_dim": torch.any,
    "nll_loss_forward": lambda f, target: torch.ops.aten.nll_loss_forward(f, target, None, 1, -100),
    "repeat_interleave_self_int": torch.repeat_interleave,
    "vector_norm": torch.linalg.vector_norm,
    "repeat": lambda m, sizes: m.repeat(sizes),
    "contiguous": lambda m: m.contiguous(),
    "embedding": lambda weight, indices: torch.nn.functional.embedding(indices, weight),
    "group_norm": torch.ops.aten.native_group_norm,
    "batch_norm": torch.ops.aten.native_batch_norm,
    "layer_norm": lambda x, shape, w, b: torch.ops.aten.native_layer_norm(x, shape, w, b, 1e-5),
    "rms_norm": torch.nn.functional.rms_norm,
    "log_sigmoid": torch.nn.functional.logsigmoid,
    "upsample_nearest2d": torch.ops.aten.upsample_nearest2d,
    "pad": torch.nn.functional.pad,
    "gather": torch.gather,
}


class Torch:
    """torch's function of the name that the library has for it."""

    def __getattr__(self, name):
        if name in OWN:
            return OWN[name]
        if hasattr(torch, name):
            return getattr(torch, name)
        if hasattr(torch.Tensor, name):
            return lambda value, *args: getattr(value, name)(*args)
        if hasattr(torch.nn.functional, name):
            return getattr(torch.nn.functional, name)
        return getattr(torch.ops.aten, name)


def cases(device: str):
    import flag_gems

    values, reference = inputs(), Torch()
    for text in CASES.split():
        name = text.partition("(")[0]

        def call(library, text=text):
            given = {name: value.to(device, copy=True) for name, value in values.items()}
            return eval(f"library.{text}", {"library": library, "torch": torch, **given})

        yield name, lambda call=call: call(flag_gems.ops), lambda call=call: call(reference)
