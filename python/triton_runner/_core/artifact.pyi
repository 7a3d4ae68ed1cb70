"""Artifacts on disk, and what they tell about their kernels."""



def levels() -> list[str]:
    """ttir, ttgir, llir, ptx, cubin, amdgcn, hsaco."""

def find(folder: str, kernel: str, level: str) -> str:
    """
    The path of <kernel>.<level> in a folder of artifacts, an entry of Triton's cache or the cache itself.
    """

def find_metadata(artifact_path: str) -> str:
    """The path of the artifact's metadata file; "" if there is none."""

def read(path: str) -> bytes:
    """The bytes of a file."""

def write(path: str, content: object) -> None:
    """
    Writes text or bytes so that a reader sees the old file or the new one, never a part.
    """

def describe(data: object, level: str, kernel: str = '', metadata: str | None = None, filename: str = '') -> dict:
    """
    What an artifact (text or bytes) and the text of its metadata file tell about a kernel, the only one where none is named: a dict with name, target, params, num_warps, num_ctas, shared, n_regs, ... (None where neither tells), `missing` (what a launch on a GPU needs and was not told) and `warnings`.
    """

def device_code(data: bytes, filename: str = '') -> list:
    """
    The device code in a cubin, a fatbin, or a program or library that holds fatbins: a dict a piece, with level (cubin, ptx), target, content (bytes), problem (why there is no content, or "") and kernels (of a cubin).
    """

def occupancy(target: str, threads: int, registers: int, shared: int) -> dict:
    """
    Blocks of a kernel on an SM, their warps, the warps that it holds at most, and what allows no further block. shared: bytes of a block, static and dynamic.
    """

def instruction_mix(text: str, is_sass: bool, kernel: str) -> dict:
    """
    {opcode: count} of a kernel, the most frequent first, in what nvdisasm -c prints or in AMD assembly.
    """

def kernels(data: object, level: str, filename: str = '') -> list[str]:
    """The names of the kernels in an artifact."""
