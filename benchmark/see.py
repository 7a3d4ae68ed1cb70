"""How long the map and the page of a kernel take from a trace that exists, beside tritonparse.

python benchmark/see.py FOLDER            FOLDER: what `triton-runner passes ... --save FOLDER` wrote
python benchmark/see.py FOLDER PYTHON     PYTHON: one that has tritonparse
"""

import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from triton_runner._see.material import gather
from triton_runner._see.report import report
from triton_runner._see.source_map import SourceMap, source_map

_THEIRS = """
import json, sys, time
from tritonparse.parse.trace_processor import parse_single_trace_content
event, took = open(sys.argv[1]).read(), []
for _ in range(25):
    start = time.perf_counter()
    made = json.loads(parse_single_trace_content(event))
    took.append(time.perf_counter() - start)
mapped = made["payload"].get("source_mappings") or {}
print(json.dumps([min(took), {level: len(rows) for level, rows in mapped.items()}]))
"""


def best(act, times: int = 25) -> float:
    took = []
    for _ in range(times):
        start = time.perf_counter()
        act()
        took.append(time.perf_counter() - start)
    return min(took)


def main(folder: str, python: str = "") -> None:
    made = source_map(folder)
    texts = {level: text for level, text in gather(folder).asm.items() if isinstance(text, str)}
    print(f"{made}\nmap, nvdisasm included: {best(lambda: source_map(folder), 3):.2f} s")
    material = dataclasses.replace(gather(folder), asm=texts)
    ours = best(lambda: SourceMap(material).to_json())
    print(f"map of {', '.join(texts)}: {ours * 1e3:.0f} ms, as JSON")
    with tempfile.TemporaryDirectory() as place:
        page = f"{place}/out.html"
        print(f"page with all passes: {best(lambda: report(folder, page), 3):.2f} s", end="")
        print(f", {Path(page).stat().st_size / 2**20:.1f} MiB")
        if python:
            content = {f"{made.name}.{level}": text for level, text in texts.items()}
            paths = {name: f"{folder}/{name}" for name in content}
            event = {
                "event_type": "compilation",
                "payload": {"metadata": {}, "file_content": content, "file_path": paths},
            }
            Path(place, "event.json").write_text(json.dumps(event))
            done = subprocess.run(
                [python, "-c", _THEIRS, f"{place}/event.json"], capture_output=True, text=True
            )
            seconds, _ = (
                json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else (0, done.stderr)
            )
            print(f"tritonparse of the same texts: {seconds * 1e3:.0f} ms, {seconds / ours:.1f} times ours")


if __name__ == "__main__":
    main(*sys.argv[1:])
