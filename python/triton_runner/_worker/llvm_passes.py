"""Records the passes inside LLVM: what LLVM_IR_ENABLE_DUMP=1 prints after each, kept beside the stage that
ran them. How long each takes is found by pass_clock.py.

make_llir optimises the LLVM IR, make_ptx or make_amdgcn generates code from it. While a stage runs, standard
error is a file and LLVM prints the whole module after each pass; the passes of code generation that work on
machine instructions are named only, as nothing reads what they print. Printing changes nothing that is
made.

It is described in doc/guide/passes.md#inside-llvm."""

import contextlib
import os
import re
import sys
import tempfile

STAGES = {"llir": "make_llir", "ptx": "make_ptx", "amdgcn": "make_amdgcn"}
# Triton sets the options of LLVM that DISABLE_LLVM_OPT lists, whatever its name says.
_SCOPE = "print-module-scope"
# "; *** IR Dump After InstCombinePass on k ***" of what optimises; of what generates code
# "*** IR Dump After Early CSE (early-cse) *** (function: k)", and of machine instructions
# "# *** IR Dump After Peephole Optimizations (peephole-opt) ***:".
_HEADER = re.compile(
    r"^(?:; \*\*\* IR Dump After (?P<name>.+?) on .*\*\*\*.*"
    r"|(?P<machine># )?\*\*\* IR Dump After (?P<said>.+?)(?: \((?P<argument>[\w.-]+)\))? \*\*\*.*)$",
    re.M,
)
# LLVM prints these between the dumps.
_BETWEEN = re.compile(
    r"^(?:Running (?:pass|analysis)|Invalidating analysis|Clearing all analysis|Skipping pass)\b.*$\n?", re.M
)
_ANALYSES = ("RequireAnalysisPass", "InvalidateAnalysisPass")

# As LLVM's opt names a pass, where that is not its class's name in small letters.
_ARGUMENTS = {
    "Annotation2MetadataPass": "annotation2metadata", "ArgumentPromotionPass": "argpromotion",
    "AggressiveInstCombinePass": "aggressive-instcombine", "AlwaysInlinerPass": "always-inline",
    "CallSiteSplittingPass": "callsite-splitting", "ConstantMergePass": "constmerge",
    "ControlHeightReductionPass": "chr", "CorrelatedValuePropagationPass": "correlated-propagation",
    "DeadArgumentEliminationPass": "deadargelim", "EliminateAvailableExternallyPass": "elim-avail-extern",
    "EntryExitInstrumenterPass": "ee-instrument", "ExpandMemCmpPass": "expand-memcmp",
    "Float2IntPass": "float2int", "ForceFunctionAttrsPass": "forceattrs", "GlobalDCEPass": "globaldce",
    "GlobalOptPass": "globalopt", "IndVarSimplifyPass": "indvars", "InferFunctionAttrsPass": "inferattrs",
    "InlinerPass": "inline", "InstCombinePass": "instcombine", "InstSimplifyPass": "instsimplify",
    "LibCallsShrinkWrapPass": "libcalls-shrinkwrap", "LoopFullUnrollPass": "loop-unroll-full",
    "LoopIdiomRecognizePass": "loop-idiom", "LoopInstSimplifyPass": "loop-instsimplify",
    "LoopLoadEliminationPass": "loop-load-elim", "LoopSimplifyCFGPass": "loop-simplifycfg",
    "LowerExpectIntrinsicPass": "lower-expect", "MemCpyOptPass": "memcpyopt",
    "MemProfRemoveInfo": "memprof-remove-attributes", "MergeICmpsPass": "mergeicmps",
    "MergedLoadStoreMotionPass": "mldst-motion", "OpenMPOptPass": "openmp-opt",
    "OpenMPOptCGSCCPass": "openmp-opt-cgscc", "PostOrderFunctionAttrsPass": "function-attrs",
    "PromotePass": "mem2reg", "RecomputeGlobalsAAPass": "recompute-globalsaa",
    "ReversePostOrderFunctionAttrsPass": "rpo-function-attrs", "SimplifyCFGPass": "simplifycfg",
    "TailCallElimPass": "tailcallelim", "WarnMissedTransformationsPass": "transform-warning",
}  # fmt: skip


def argument_of(name):
    """The name that LLVM's opt knows a pass class by."""
    if name in _ARGUMENTS:
        return _ARGUMENTS[name]
    words = re.sub(r"([a-z])([A-Z])|([A-Z]+)([A-Z][a-z])", r"\1\3-\2\4", name.removesuffix("Pass"))
    return words.lower()


def split(text):
    """[{"name", "argument", "text"}] of a dump; text is None of a pass on machine instructions."""
    headers = list(_HEADER.finditer(text))
    ends = [each.start() for each in headers[1:]] + [len(text)]
    passes = []
    for header, end in zip(headers, ends, strict=True):
        name = header["name"] or header["said"]
        name = name.replace("(anonymous namespace)::", "")
        if name.startswith(_ANALYSES):
            continue
        body = None
        if not header["machine"]:
            body = _BETWEEN.sub("", text[header.end() : end]).strip("\n") + "\n"
            if "define " not in body:
                continue
        passes.append({"name": name, "argument": header["argument"] or argument_of(name), "text": body})
    return passes


def record(stages, listed):
    """Puts around the stages of {level: function} what writes LLVM's passes into listed, {"llir": [...],
    "ptx" or "amdgcn": [...]}, as split() has them."""
    for level in STAGES:
        if level in stages:
            stages[level] = _watched(level, stages[level], listed)


def _watched(level, stage, listed):
    def run(source, metadata):
        with _variables(), tempfile.TemporaryFile() as file:
            try:
                with standard_error(file):
                    return stage(source, metadata)
            finally:
                file.seek(0)
                output = file.read().decode(errors="replace")
                listed[level] = split(output)
                if not listed[level]:  # it failed before, or prints none
                    sys.stderr.write(output)

    return run


def _variables():
    off = os.environ.get("DISABLE_LLVM_OPT", "")
    return variables(LLVM_IR_ENABLE_DUMP="1", DISABLE_LLVM_OPT=f"{off},{_SCOPE}" if off else _SCOPE)


@contextlib.contextmanager
def variables(**values):
    """Environment variables have these values inside of the block."""
    kept = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def standard_error(file):
    """Standard error is a file: LLVM writes to the descriptor."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
