"""How long the map and the page of a kernel take from a trace that exists, beside tritonparse.

python benchmark/see.py FOLDER            FOLDER: what `triton-runner passes ... --save FOLDER` wrote
python benchmark/see.py FOLDER PYTHON     PYTHON: one that has tritonparse

The two maps are timed in turn, and in CPU time: others may be at work on the machine.
"""

import dataclasses
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from triton_runner._kernel.material import gather
from triton_runner._kernel.page.report import report
from triton_runner._kernel.source_map import SourceMap, source_map

_THEIRS = """
import json, sys, time
from tritonparse.parse.trace_processor import parse_single_trace_content
event, took = open(sys.argv[1]).read(), []
for _ in range(5):
    start = time.process_time()
    made = json.loads(parse_single_trace_content(event))
    took.append(time.process_time() - start)
assert made["payload"].get("source_mappings")
print(json.dumps(took))
"""


def timed(act, times: int, clock=time.perf_counter) -> list[float]:
    took = []
    for _ in range(times):
        start = clock()
        act()
        took.append(clock() - start)
    return took


def beside(python: str, event: str, act, rounds: int = 7) -> str:
    ours, theirs = [], []
    for _ in range(rounds):
        done = subprocess.run([python, "-c", _THEIRS, event], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"error: {python} runs no tritonparse: {done.stderr.strip().splitlines()[-1]}")
        theirs += json.loads(done.stdout.splitlines()[-1])
        ours += timed(act, 5, time.process_time)
    lines = []
    for word, of in ("minimum", min), ("median", statistics.median):
        mine, other = of(ours) * 1e3, of(theirs) * 1e3
        lines.append(
            f"{word} of CPU time: ours {mine:.1f} ms, tritonparse {other:.1f} ms, {other / mine:.1f} times"
        )
    return "\n".join(lines)


def main(folder: str, python: str = "") -> None:
    made = source_map(folder)
    texts = {level: text for level, text in gather(folder).asm.items() if isinstance(text, str)}
    print(f"{made}\nmap, nvdisasm included: {min(timed(lambda: source_map(folder), 3)):.2f} s")
    material = dataclasses.replace(gather(folder), asm=texts)
    ours = min(timed(lambda: SourceMap(material).to_json(), 25, time.process_time))
    print(f"map of {', '.join(texts)}: {ours * 1e3:.0f} ms, as JSON")
    with tempfile.TemporaryDirectory() as place:
        page = f"{place}/out.html"
        print(f"page with all passes: {min(timed(lambda: report(folder, page), 3)):.2f} s", end="")
        print(f", {Path(page).stat().st_size / 2**20:.1f} MiB")
        if python:
            content = {f"{made.name}.{level}": text for level, text in texts.items()}
            paths = {name: f"{folder}/{name}" for name in content}
            event = {
                "event_type": "compilation",
                "payload": {"metadata": {}, "file_content": content, "file_path": paths},
            }
            Path(place, "event.json").write_text(json.dumps(event))
            print(beside(python, f"{place}/event.json", lambda: SourceMap(material).to_json()))


if __name__ == "__main__":
    main(*sys.argv[1:])
