"""Writes tests/golden/layouts.txt: the linear layouts that Triton itself gives for encodings in IR files.

    python tools/layout_goldens.py OUT DIR...     (needs Triton 3.9; DIR holds .ttgir and .mlir files)

A line is `encoding | element type | shape | in-dim=bases ...`, with aliases expanded. Every question is put
to Triton in a child process, because an encoding that it does not like can abort it: such a question is left
out.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

SHAPES_PER_ENCODING = 2
KEPT_PER_KIND = 150  # spread evenly over what was found
# Gluon's classes, through which the questions go, lose blockRepOrder; the engine has no partitioned_shared.
SKIPPED = re.compile("blockRepOrder|partitioned_shared|generic_linear|tlx[.]|gluon[.]")


def balanced(text: str, start: int) -> str:
    """The text from `start` (at or before a '<') to the '>' that closes it."""
    depth = 0
    for i in range(start, len(text)):
        if text[i] in "<[{(":
            depth += 1
        elif text[i] in ">]})":
            depth -= 1
            if depth == 0:
                return text[start : i + 1]
    return ""


def expanded(text: str, aliases: dict[str, str]) -> str:
    return re.sub(r"#\w+(?![\w.<])", lambda a: aliases.get(a[0], a[0]), text)


def questions(text: str):
    """(encoding, element type, shape, kind) of every tensor and memory descriptor type in an IR file."""
    for chunk in text.split("// -----"):
        aliases: dict[str, str] = {}
        for m in re.finditer(r"^(#\w+) = (#[\w.]+<)", chunk, re.M):
            aliases[m[1]] = expanded(balanced(chunk, m.start(2)), aliases)
        for m in re.finditer(r"tensor<((?:\d+x)+)([\w.]+), (#\w+)(?=[.<>])", chunk):
            start = m.start(3)
            enc = aliases.get(m[3]) if chunk[m.end(3)] == ">" else balanced(chunk, start)
            if enc and not SKIPPED.search(enc):
                yield expanded(enc, aliases), m[2], [int(d) for d in m[1][:-1].split("x")], "tensor"
        for m in re.finditer(r"memdesc<((?:\d+x)+)([\w.]+), (#\w+), (#\w+(?:\.\w+)?)", chunk):
            enc = aliases.get(m[3])
            if enc and not SKIPPED.search(enc):
                shape = [int(d) for d in m[1][:-1].split("x")]
                space = "tmem" if "tensor_memory" in enc else "shared"
                rank = re.search(r"order = \[([^]]*)\]", enc)
                n = len(rank[1].split(",")) if rank else None
                if n is None and "nvmma" in enc:
                    r = re.search(r"rank = (\d+)", enc)
                    n = int(r[1]) if r else min(2, len(shape))
                yield enc, m[2], shape[-n:] if n else shape[-2:], space


CHILD = r"""
import json, re, sys
from triton._C.libtriton import ir, gluon_ir, amd, nvidia
ctx = ir.context(); ir.load_dialects(ctx); nvidia.load_dialects(ctx); amd.load_dialects(ctx)

def product(text, key):
    m = re.search(key + r" = \[([^]]*)\]", text)
    n = 1
    for x in (m[1].split(",") if m else []): n *= int(x)
    return n

def ask(enc, ty, shape, kind, path):
    dims = "x".join(map(str, shape))
    blocks = re.search(r"(?:CGALayout|block) = (\[\[.*?\]\]|\[\])", enc)
    ctas = 1 << len(re.findall(r"\[[^][]*\]", blocks[1])) if blocks and blocks[1] != "[]" else 1
    if "block = [[" not in enc and "CGALayout" not in enc: ctas = product(enc, "CTAsPerCGA")
    warps, lanes = product(enc, "warpsPerCTA"), product(enc, "threadsPerWarp")
    if "threadsPerWarp" not in enc: lanes = 64 if "mfma" in enc else 32
    lists = lambda text: len(re.findall(r"\[[\d, ]+\]", text))
    if "linear<" in enc and kind == "tensor":
        count = lambda key: lists(re.search(key + r" = \[(.*?)\](?=, (?:lane|warp|block) =|\})", enc)[1])
        lanes, warps = 1 << count("lane"), 1 << count("warp")
    cta = re.search(r"ctaLayout = \{(?:register = \[.*?\], )?warp = \[(.*?)\]\}", enc)
    if "amd_wmma" in enc and cta: warps = 1 << lists(cta[1] + "]" if cta[1] else "")
    space = {"shared": "#ttg.shared_memory", "tmem": "#ttng.tensor_memory"}.get(kind)
    if kind == "tensor": t = f"tensor<{dims}x{ty}, {enc}>"
    else: t = f"!ttg.memdesc<{dims}x{ty}, {enc}, {space}, mutable>"
    target = "hip:gfx942" if "amd" in enc else "cuda:90"
    open(path, "w").write(
        f'module attributes {{"ttg.num-warps" = {warps} : i32, "ttg.num-ctas" = {ctas} : i32, '
        f'ttg.target = "{target}", "ttg.threads-per-warp" = {lanes} : i32}} '
        f'{{ tt.func public @f(%a: {t}) {{ tt.return }} }}')
    value = ir.parse_mlir_module(path, ctx).get_function("f").args(0)
    b = gluon_ir.GluonOpBuilder(ctx)
    of = b.get_gluon_layout_from_tensor if kind == "tensor" else b.get_gluon_layout_from_memdesc
    layout = of(value)
    ll = b.to_linear_layout(layout._to_ir(b), shape)
    names = {"register": "reg_bases", "lane": "lane_bases", "warp": "warp_bases", "offset": "offset_bases",
             "row": "rows", "col": "cols", "block": "block_bases"}
    bases = lambda a: json.dumps(getattr(ll, a)).replace(" ", "")
    return " ".join(f"{n}={bases(a)}" for n, a in names.items() if hasattr(ll, a))

for line in sys.stdin:
    try: print(json.dumps(ask(*json.loads(line), sys.argv[1])), flush=True)
    except Exception as e: print(json.dumps({"error": str(e)[:300]}), flush=True)
import os; os._exit(0)
"""


def ask_all(asked: list) -> list:
    answers: list = []
    with tempfile.TemporaryDirectory() as tmp:
        while len(answers) < len(asked):
            todo = asked[len(answers) :]
            child = subprocess.run(
                [sys.executable, "-c", CHILD, f"{tmp}/m.mlir"],
                input="".join(json.dumps(q) + "\n" for q in todo),
                text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            answers += [json.loads(a) for a in child.stdout.splitlines()]
            if len(answers) < len(asked):
                answers.append({"error": "aborted"})
    return answers


def main(out: str, *dirs: str) -> None:
    wanted: dict = {}
    for d in dirs:
        for path in sorted(p for p in pathlib.Path(d).rglob("*") if p.suffix in (".ttgir", ".mlir")):
            for enc, ty, shape, kind in questions(path.read_text(errors="replace")):
                seen = wanted.setdefault(re.sub(r"\s+", " ", enc), [])
                if len(seen) < SHAPES_PER_ENCODING and all(s[1] != shape for s in seen):
                    seen.append((ty, shape, kind))
    asked = [(enc, ty, shape, kind) for enc, qs in sorted(wanted.items()) for ty, shape, kind in qs]
    lines, refused = [], []
    for (enc, ty, shape, _), answer in zip(asked, ask_all(asked), strict=True):
        if isinstance(answer, str):
            lines.append(f"{enc} | {ty} | {'x'.join(map(str, shape))} | {answer}\n")
        else:
            refused.append((enc, shape, answer["error"]))
    by_kind: dict[str, list[str]] = {}
    for line in lines:
        by_kind.setdefault(line.split("<")[0], []).append(line)
    kept = [k[i] for k in by_kind.values() for i in range(0, len(k), -(-len(k) // KEPT_PER_KIND))]
    pathlib.Path(out).write_text("".join(kept))
    print(f"{len(lines)} answers, {len(refused)} questions that Triton refused")
    for enc, shape, error in refused:
        print("refused:", enc, shape, error, file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
