"""Tests the programs of examples/gluon, at each level that the CPU runs, and with a value dumped at
each."""

import importlib
import sys

import matrix
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.experimental.gluon.language.nvidia.hopper")
import triton_runner  # noqa: E402
from triton.experimental.gluon.language.nvidia.hopper import tma  # noqa: E402

if not hasattr(tma, "async_load"):
    pytest.skip("tma.async_load came with Triton 3.9", allow_module_level=True)

# The target, and a value of the source that a dump records.
EXAMPLES = {
    "async_copy": ("cuda:80", "total"),
    "tma": ("cuda:90", "at"),
    "wgmma": ("cuda:90", "c"),
    "persistent_matmul": ("cuda:90", "tile"),
    "warp_specialization": ("cuda:90", "row"),
    "tcgen05": ("cuda:100", "c"),
    "amd_mfma": ("hip:gfx942", "c"),
}
CASES = [
    (name, level)
    for name, (target, _) in EXAMPLES.items()
    for level in (("ttgir", "ptx", "cubin") if target.startswith("cuda:") else ("ttgir",))
]


@pytest.fixture
def example(monkeypatch):
    """Imports an example by name, as if its folder were the first on the path."""
    monkeypatch.syspath_prepend(str(matrix.EXAMPLES / "gluon"))
    yield importlib.import_module
    for name in (*EXAMPLES, "from_each_level", "shared"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name, level", CASES)
def test_an_example(example, name, level):
    target, value = EXAMPLES[name]
    module = example(name)
    with triton_runner.using(device="cpu", target=target, level=level, check="race,oob"):
        result, expected = module.run()
    assert torch.equal(result.double(), expected.double())
    with triton_runner.using(device="cpu", target=target, level=level):
        with triton_runner.dumping(value) as dump:
            result, _ = module.run()
    assert torch.equal(result.double(), expected.double())
    assert [one for one in dump if len(one)], f"nothing of {value} was recorded"


def test_from_each_level(example):
    with triton_runner.using(device="cpu", target="cuda:90"):
        for level, result, expected in example("from_each_level").run():
            assert torch.equal(result, expected), level


def test_jit_takes_what_gluon_takes(example):
    from triton_runner import gluon

    assert gluon.aggregate is importlib.import_module("triton.experimental.gluon").aggregate
    kernel = gluon.jit(do_not_specialize=["n"])(example("from_each_level").scale.fn)
    assert kernel.params[2].do_not_specialize and kernel.is_gluon()


def test_a_triton_without_gluon(monkeypatch):
    from triton_runner import gluon

    monkeypatch.setitem(sys.modules, "triton.experimental.gluon", None)
    with pytest.raises(triton_runner.DiagnosticError, match="this Triton has no Gluon"):
        gluon.jit(lambda: None)
