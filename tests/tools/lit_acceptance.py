"""How much of Triton's own lit tests the parser takes: of the chunks that Triton's parser accepts, the share
that parses, prints back byte for byte, and (stricter) comes out of its canonical print again.

    python tests/tools/lit_acceptance.py LIT_FOLDER [--accepted FILE] [--failures] [--dump FOLDER]

LIT_FOLDER holds *.mlir files, split at their `// -----` lines. Triton runs in child processes because some
chunks abort it; FILE keeps its verdicts for the next run.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CHILD = """
import os, sys
from triton._C import libtriton
from triton._C.libtriton import ir
sys.stderr.flush()
for line in sys.stdin:
    context = ir.context()
    ir.load_dialects(context)
    for name in ("nvidia", "amd", "proton"):
        backend = getattr(libtriton, name, None)
        if hasattr(backend, "load_dialects"):
            backend.load_dialects(context)
    try:
        ir.parse_mlir_module(line.strip(), context)
        verdict = "accepted"
    except Exception:
        verdict = "refused"
    os.write(1, (verdict + "\\n").encode())
"""


def chunks(folder):
    """(file, number, text) of every chunk."""
    for path in sorted(pathlib.Path(folder).rglob("*.mlir")):
        parts = re.split(r"^// -----.*\n?", path.read_text(errors="surrogateescape"), flags=re.M)
        for number, text in enumerate(parts):
            yield str(path.relative_to(folder)), number, text


def triton_verdicts(texts):
    """'accepted', 'refused' or 'aborted' for each text, from Triton's parser in child processes."""
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "chunk.mlir")
        child = None
        for text in texts:
            pathlib.Path(path).write_text(text, errors="surrogateescape")
            if child is None or child.poll() is not None:
                child = subprocess.Popen(
                    [sys.executable, "-c", CHILD],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
            child.stdin.write(path + "\n")
            child.stdin.flush()
            verdict = child.stdout.readline().strip()
            if not verdict:
                child.wait()
                verdict = "aborted"
            verdicts.append(verdict)
        if child:
            child.stdin.close()
            child.wait()
    return verdicts


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("folder")
    arguments.add_argument("--accepted", help="JSON file that keeps Triton's verdicts")
    arguments.add_argument("--failures", action="store_true", help="list what does not parse")
    arguments.add_argument("--dump", help="write the accepted chunks there, a file each, and stop")
    options = arguments.parse_args()

    every = list(chunks(options.folder))
    if options.accepted and os.path.exists(options.accepted):
        verdicts = json.loads(pathlib.Path(options.accepted).read_text())
    else:
        verdicts = triton_verdicts(text for _, _, text in every)
        if options.accepted:
            pathlib.Path(options.accepted).write_text(json.dumps(verdicts))
    accepted = [chunk for chunk, verdict in zip(every, verdicts, strict=True) if verdict == "accepted"]
    print(f"{len(every)} chunks: Triton accepts {len(accepted)}, aborts on {verdicts.count('aborted')}")
    if options.dump:
        folder = pathlib.Path(options.dump)
        folder.mkdir(parents=True, exist_ok=True)
        for name, number, text in accepted:
            (folder / f"{name.replace('/', '_')}.{number}.mlir").write_text(text, errors="surrogateescape")
        return 0

    from triton_runner import ir

    parsed = round_trip = canonical = 0
    for name, number, text in accepted:
        raw = text.encode(errors="surrogateescape")
        try:
            module = ir.parse(raw, f"{name}#{number}")
        except ValueError as error:
            if options.failures:
                print(str(error).split("\n")[0])
            continue
        parsed += 1
        round_trip += str(module).encode(errors="surrogateescape") == raw
        once = module.print(canonical=True)
        try:
            canonical += ir.parse(once).print(canonical=True) == once
        except ValueError as error:
            if options.failures:
                print(f"{name}#{number}: its canonical print does not parse: {error}".split("\n")[0])
    share = round_trip / max(1, len(accepted))
    print(f"parsed {parsed}, byte for byte {round_trip} ({share:.1%}), canonical print stable {canonical}")
    return 0 if share >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
