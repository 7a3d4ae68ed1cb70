"""Functions that are right, beside the subjects: examples, Triton's tutorials, operators of libraries."""

import dataclasses
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples" / "guide"


@dataclasses.dataclass(frozen=True)
class Function:
    """dims: what its text leaves open, as --dims takes it; library: what it imports of tests/libraries."""

    part: str
    file: pathlib.Path
    name: str
    reference: str
    dims: tuple = ()
    library: str = ""


def subjects() -> list[Function]:
    files = sorted((HERE / "subjects").glob("*.py"))
    return [Function("subjects", file, file.stem, f"{file}:reference") for file in files]


def examples() -> list[Function]:
    file = EXAMPLES / "gather.py"
    return [Function("examples", file, "gather", f"{file}:reference")]


def tutorials(folder: pathlib.Path) -> list[Function]:
    """Their functions take contiguous tensors, and the first two no empty ones; their texts do not say so."""
    asked = (
        ("01-vector-add.py", "add", ("n=1..100000", "x=float[n] contiguous", "y=float[n] contiguous")),
        ("02-fused-softmax.py", "softmax", ("M=1..2000", "N=1..2000", "x=float[M, N] contiguous")),
        ("03-matrix-multiplication.py", "matmul",
         ("M=1..600", "N=1..600", "K=1..600", "a=f16[M, K] contiguous", "b=f16[K, N]")),
        ("04-low-memory-dropout.py", "dropout",
         ("n=0..10000", "x=f32[n] contiguous finite", "x_keep=i32[n] contiguous in 0..2")),
    )  # fmt: skip
    references = HERE / "tutorials.py"
    return [
        Function("tutorials", folder / file, name, f"{references}:{name}", dims) for file, name, dims in asked
    ]


def operators(libraries: pathlib.Path) -> list[Function]:
    """Those of libraries that are installed there (tests/libraries/run.py)."""
    file = HERE / "operators.py"
    names = [line.split("(")[0][4:] for line in file.read_text().splitlines() if line.startswith("def ")]
    known = {"liger": "liger_kernel", "conch": "conch"}
    return [
        Function("operators", file, name, f"{file}:{name}_reference", library=library)
        for name in names
        if not name.endswith("_reference")
        and (libraries / (library := known[name.split("_")[0]]) / "complete").exists()
    ]
