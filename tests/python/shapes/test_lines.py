"""verify --shapes names the access behind a result that differs: an index that the layout of another tensor
has, a row that is taken to lie next to the one before it, a store, a size that is written out."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")
from triton_runner.verbs.verify.shapes.run import Options, verify_shapes

HEAD = """
import torch, triton, triton.language as tl

@triton.jit
def kernel(x, y, out, xm, xn, ym, yn, om, on, M, N, B: tl.constexpr):
    m, n = tl.program_id(0), tl.arange(0, B)
    a = tl.load(x + m * xm + n * xn, n < N, other=0.0)
    b = tl.load(y + m * ym + n * yn, n < N, other=0.0)
    tl.store(out + m * om + n * on, a + b, n < N)

def reference(x, y):
    return x + y
"""
CALL = """
def add(x, y):
    M, N = x.shape
    out = torch.empty_like(x)
    if M and N:
        kernel[(M,)](x, y, out, STRIDES, M, N, B=triton.next_power_of_2(N))
    return out

if __name__ == "__main__":
    x = torch.randn(6, 6)
    assert torch.equal(add(x, x.clone()), x + x)
"""
RIGHT = "*x.stride(), *y.stride(), *out.stride()"
LOAD_X, LOAD_Y, STORE = 6, 7, 8


@pytest.fixture
def found(tmp_path, monkeypatch):
    """The faults of kind "result" of a program, and its lines."""
    monkeypatch.chdir(tmp_path)

    def of(text: str, function: str = "add", most: int = 14):
        (tmp_path / "program.py").write_text(HEAD.lstrip("\n") + text)
        result = verify_shapes(f"program.py:{function}", (), Options("program.py:reference", most=most))
        return [one.fault for one in result.faults if one.fault.kind == "result"]

    return of


@pytest.mark.parametrize(
    ("strides", "line", "says"),
    [
        ("*x.stride(), *x.stride(), *out.stride()", LOAD_Y, "tt.load at program.py:7, program ("),
        ("*x.stride(), N, 1, *out.stride()", LOAD_Y, "it should be y["),
        ("N, 1, *y.stride(), *out.stride()", LOAD_X, "which is outside of x; it should be x["),
        ("*x.stride(), *y.stride(), N, 1", STORE, "writes the result["),
    ],
)
def test_a_wrong_stride_has_its_line(found, strides, line, says):
    faults = found(CALL.replace("STRIDES", strides))
    assert faults, "the fault was not found"
    assert (faults[0].line, faults[0].kernel) == (line, "kernel"), faults[0].message
    assert says in faults[0].message
    assert "as in the call with the usual layouts" in faults[0].message


def test_right_strides_have_no_fault(found):
    assert found(CALL.replace("STRIDES", RIGHT)) == []


def test_a_function_that_copies_what_is_not_contiguous_has_no_fault(found):
    text = CALL.replace("STRIDES", "N, 1, N, 1, N, 1").replace(
        "    M, N", "    x, y = x.contiguous(), y.contiguous()\n    M, N", 1
    )
    assert found(text) == []


MEAN = """
@triton.jit
def means(x, out, N, B: tl.constexpr):
    n = tl.arange(0, B)
    row = tl.load(x + tl.program_id(0) * N + n, n < MASK, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(row) / N)

def mean(x):
    x = x.contiguous()
    M, N = x.shape
    out = torch.empty(M)
    if M and N:
        means[(M,)](x, out, N, B=triton.next_power_of_2(N))
    return out

def reference(x):
    return x.mean(1)

if __name__ == "__main__":
    x = torch.randn(4, 16)
    assert torch.allclose(mean(x), reference(x), atol=1e-6)
"""


def test_an_element_that_is_not_read_is_named_with_the_load(found):
    (fault,) = found(MEAN.replace("MASK", "N // 4 * 4"), "mean")
    assert "it does not depend on x[0, " in fault.message and "the reference's does" in fault.message
    assert fault.line in (16, 17), fault.message  # the load, or the store where nothing is read


def test_a_call_that_cannot_be_traced_keeps_its_fault(found, monkeypatch):
    from triton_runner._kernel.dumps import accesses

    monkeypatch.setattr(accesses, "READS", ())
    monkeypatch.setattr(accesses, "WRITES", ())
    (fault, *_) = found(CALL.replace("STRIDES", "*x.stride(), *x.stride(), *out.stride()"))
    assert "differ from the reference" in fault.message and fault.line == 0


BOXES = """
@triton.jit
def boxed(x_ptr, out_ptr, M, N, xm, om, B: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[xm, 1], block_shape=[B, B])
    out = tl.make_tensor_descriptor(out_ptr, shape=[M, N], strides=[om, 1], block_shape=[B, B])
    at = [tl.program_id(0) * B, tl.program_id(1) * B]
    out.store(at, x.load(at) * 2)

triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8))

def reference(x):
    return 2 * x

def doubled(x):
    (M, N), out = x.shape, torch.empty(x.shape)
    boxed[(triton.cdiv(M, 16), triton.cdiv(N, 16))](x, out, M, N, STRIDES, B=16)
    return out

if __name__ == "__main__":
    x = torch.randn(32, 48)
    assert torch.equal(doubled(x), 2 * x)
"""


def test_a_wrong_stride_of_a_descriptor_has_its_line(found):
    faults = found(BOXES.replace("STRIDES", "N, out.stride(0)"), "doubled")
    assert faults, "the fault was not found"
    first = faults[0]
    assert "tt.descriptor_load at program.py:" in first.message, first.message
    assert "which is outside of x; it should be x[" in first.message
    text = (HEAD.lstrip("\n") + BOXES).splitlines()
    assert "x.load(at)" in text[first.line - 1]


GRADIENT = """
class Sum(torch.autograd.Function):
    @staticmethod
    def forward(context, x, y):
        return x + y

    @staticmethod
    def backward(context, given):
        out = torch.empty(given.shape)
        M, N = given.shape
        if M and N:
            zero = torch.zeros(given.shape)
            kernel[(M,)](zero, given, out, N, 1, N, 1, N, 1, M, N, B=triton.next_power_of_2(N))
        return out, out

def reference(x, y):
    return y.clone()

def gradient(x, y):
    x = x.detach().requires_grad_()
    Sum.apply(x, y).backward(y)
    return x.grad

if __name__ == "__main__":
    x = torch.randn(6, 6)
    assert torch.equal(gradient(x, x.clone()), x)
"""


def test_a_wrong_stride_in_a_backward_pass_has_its_line(found):
    faults = found(GRADIENT, "gradient")
    assert faults, "the fault was not found"
    assert (faults[0].line, faults[0].kernel) == (LOAD_Y, "kernel"), faults[0].message
    assert "it should be y[" in faults[0].message
