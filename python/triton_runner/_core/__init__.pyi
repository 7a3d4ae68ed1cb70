"""The C++ core of triton_runner."""

from collections.abc import Callable, Mapping, Sequence
import enum
import types

from triton_runner._core import (
    amdgcn as amdgcn,
    artifact as artifact,
    bench as bench,
    device as device,
    ir as ir,
    layout as layout,
    probe as probe,
    ptx as ptx,
    report as report,
    sass as sass
)


def advice_on(kind: str, race: str = '') -> str:
    """
    The clause that says what to do about a fault, by KernelTrap.kind and KernelTrap.race; "" where no check reports it.
    """

class ReadSet:
    """
    The bytes of global memory that launches under check="race" and Options.reads read.
    """

    def __init__(self) -> None: ...

    def beyond(self, other: ReadSet) -> list:
        """
        (the place that read them, the address of the first, how many) of the bytes that the other set lacks, by place.
        """

class Check(enum.IntEnum):
    """What a launch on the CPU looks for, as bits."""

    OUT_OF_BOUNDS = 1

    NAN = 2

    UNINITIALIZED = 4

    RACE = 8

    INF = 16

    NAN_LOAD = 32

    ZERO_DIVISION = 64

    HINTS = 128

    OVERFLOW = 1024

    HAZARD = 512

    SURPLUS = 256

    VIEW = 2048

class Substitution:
    """
    An experiment: what the checks of a launch report gets a number (cast to the type; an i1 its lowest bit), and the launch goes on. at: places ("file:line:column"); empty: anywhere.
    """

    def __init__(self, number: float, at: Sequence[str] = []) -> None: ...

    def take_places(self) -> list:
        """
        (the fields of the first trap, how many elements or threads) of each place that was reported since the last call, in the order of the grid.
        """

class Options:
    """
    How to launch: device, threads (0: all), programs (only the first so many; 0: all), program (only this one, or None), checks (bits of Check), report_faults (go on after accesses out of bounds), fast_mma, hardware (TTGIR rounds as the target does), timeout in seconds (0: none), shared (bytes, -1: as the artifact says), stream, shuffle (the seed of a pseudo-random order, or None), timing ("", "eager", "late" or a seed: when copies land), exact_tails (TMA stores end with the tensor), follows_undefined (under uninit, stores of undefined values make memory undefined), perturb (the seed of what moves rounded results, or None), substitution (or None), reads (a ReadSet, or None), recorder (a Recorder of values, a RegisterObserver of the launched text, a CountObserver, or None), debugger (or None).
    """

    def __init__(self) -> None: ...

    @property
    def device(self) -> str: ...

    @device.setter
    def device(self, arg: str, /) -> None: ...

    @property
    def threads(self) -> int: ...

    @threads.setter
    def threads(self, arg: int, /) -> None: ...

    @property
    def programs(self) -> int: ...

    @programs.setter
    def programs(self, arg: int, /) -> None: ...

    @property
    def program(self) -> list[int] | None: ...

    @program.setter
    def program(self, arg: Sequence[int] | None, /) -> None: ...

    @property
    def checks(self) -> int: ...

    @checks.setter
    def checks(self, arg: int, /) -> None: ...

    @property
    def report_faults(self) -> bool: ...

    @report_faults.setter
    def report_faults(self, arg: bool, /) -> None: ...

    @property
    def fast_mma(self) -> bool: ...

    @fast_mma.setter
    def fast_mma(self, arg: bool, /) -> None: ...

    @property
    def hardware(self) -> bool: ...

    @hardware.setter
    def hardware(self, arg: bool, /) -> None: ...

    @property
    def timeout(self) -> float: ...

    @timeout.setter
    def timeout(self, arg: float, /) -> None: ...

    @property
    def shared(self) -> int: ...

    @shared.setter
    def shared(self, arg: int, /) -> None: ...

    @property
    def stream(self) -> int: ...

    @stream.setter
    def stream(self, arg: int, /) -> None: ...

    @property
    def shuffle(self) -> int | None: ...

    @shuffle.setter
    def shuffle(self, arg: int | None, /) -> None: ...

    @property
    def timing(self) -> str: ...

    @timing.setter
    def timing(self, arg: str, /) -> None: ...

    @property
    def exact_tails(self) -> bool: ...

    @exact_tails.setter
    def exact_tails(self, arg: bool, /) -> None: ...

    @property
    def follows_undefined(self) -> bool: ...

    @follows_undefined.setter
    def follows_undefined(self, arg: bool, /) -> None: ...

    @property
    def perturb(self) -> int | None: ...

    @perturb.setter
    def perturb(self, arg: int | None, /) -> None: ...

    @property
    def substitution(self) -> Substitution: ...

    @substitution.setter
    def substitution(self, arg: Substitution | None, /) -> None: ...

    @property
    def reads(self) -> ReadSet: ...

    @reads.setter
    def reads(self, arg: ReadSet | None, /) -> None: ...

    @property
    def recorder(self) -> None | probe.Recorder | probe.RegisterObserver | probe.CountObserver: ...

    @recorder.setter
    def recorder(self, arg: probe.Recorder | probe.RegisterObserver | probe.CountObserver | None, /) -> None: ...

    @property
    def debugger(self) -> probe.Debugger: ...

    @debugger.setter
    def debugger(self, arg: probe.Debugger | None, /) -> None: ...

class UndoLog:
    """
    What is written to blocks of memory, (address, bytes), from now on until end().
    """

    def __init__(self, blocks: Sequence[tuple[int, int]]) -> None: ...

    def changed(self) -> list[tuple[int, int]]:
        """
        (address, bytes) of the pages that are not as they were in the beginning, in order.
        """

    def read(self, address: int, bytes: int) -> bytes:
        """What was there in the beginning."""

    def put_back(self) -> None:
        """Makes all of it as it was then."""

    def end(self) -> None: ...

class Param:
    """
    A parameter of a kernel: name, kind and type as the artifact spells them.
    """

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def bits(self) -> int: ...

    @property
    def kind(self) -> str: ...

    def __repr__(self) -> str: ...

class Kernel:
    """A loaded kernel, on whichever engine or device executes it."""

    @property
    def name(self) -> str: ...

    @property
    def params(self) -> list[Param]: ...

    @property
    def level(self) -> str: ...

    @property
    def target(self) -> str: ...

    def launch(self, grid: object, args: Sequence[tuple[str, object]], options: Options = ...) -> None:
        """
        Runs the kernel and waits for it. args: (name, value) pairs of the Python function's parameters, constexprs left out; those that the artifact's compilation folded away are dropped.
        """

class ArtifactCode:
    """
    An artifact below Triton's IR, by its description (_core.artifact.describe): settles which of its parameters take a launch's values, and keeps its code, loaded once a set of argument types.
    """

    def __init__(self, description: dict) -> None: ...

    def launch(self, grid: object, args: Sequence[tuple[str, object]], options: Options, mode: int, load: Callable) -> None:
        """
        Queues a launch with (name, value) pairs, constexprs left out. load(params, hidden, shared, descriptor_flags) gives a kernel with parameters (name, kind, type, bits), `hidden` pointers of Triton's own after them; mode: what else its code depends on.
        """

    def plan(self, args: Sequence[tuple[str, object]], shared: int, mode: int, load: Callable) -> tuple:
        """
        (the kernel that launch() runs, the names of the values that it takes).
        """

    def settle(self, args: Sequence[tuple[str, object]]) -> tuple:
        """
        (the (name, value) pairs that the artifact takes, tuples taken apart; how many pointers of Triton's own follow).
        """

    @property
    def loaded(self) -> list[Kernel]:
        """The kernels loaded so far."""

def settled(kernel: Kernel, args: Sequence[tuple[str, object]]) -> list:
    """The names of the (name, value) pairs that a kernel takes."""

def is_descriptor(value: object) -> bool:
    """
    Whether a value is a host-side tensor descriptor, which takes several parameters.
    """

def set_observer(function: object | None) -> None:
    """
    What sees every launch through a Launcher before it runs: function(launcher, arguments), which gives True where it has done the launch itself; None: nothing.
    """

class Launcher:
    """
    A kernel with the signature it was compiled for, called as Triton calls its launchers: launcher(grid_x, grid_y, grid_z, stream, function, metadata, launch_metadata, enter_hook, exit_hook, *args). Runs under the settings in force and waits for the kernel.
    """

    def __call__(self, /, *args, **kwargs):
        """Call self as a function."""

    def __init__(self, kernel: Kernel, signature: Sequence[tuple[str, object]], loose: bool = False, as_triton: bool = False) -> None:
        """
        signature: (name, type) a parameter; "constexpr" is left out of the launch, a tuple of types takes a tuple apart. loose: as Triton's launchers from 3.8 on, more arguments are ignored and integers wrap. as_triton: on a GPU, what one of Triton's launchers might refuse is left to it.
        """

class Dispatch:
    """
    The launches of one kernel that were seen before: calls with equal keys run the same code (triton_runner/_jit/dispatch.py).
    """

    def __init__(self, parameters: object | None, reserved: object, entries: object, settings: object, variable: object, module: object, learn: object, within: object | None, method: str) -> None: ...

    def key(self, *args, **kwargs) -> object:
        """
        The bytes by which a call with these arguments is found; None: Python looks at each such call.
        """

    def forget(self) -> None:
        """Every call goes through Python again, once."""

class Launchable:
    def __getitem__(self, key, /):
        """Return self[key]."""

    __getstate__: types.MethodDescriptorType = ...

def load_tile(text: str, filename: str = '', name: str = '', num_warps: int = 0, contract: bool = True, sums_in_trees: bool = True, target: str = '') -> Kernel:
    """
    Loads a kernel of a TTIR or TTGIR module into the tile engine (its only one where no name is given). num_warps: of a program, where the module does not say it (0: not known). contract: whether launches with numerics="hardware" contract products and sums; sums_in_trees: how they reduce; target: where they have Triton compile functions of the target's library (empty: not).
    """

def kernel_names(text: str, filename: str = '') -> list[str]:
    """
    The kernels (public functions) of a TTIR or TTGIR module, in its order.
    """

def float_bits(type: str, value: float) -> int:
    """
    The bits that a launch passes for a number to a parameter of that type, as Triton's launchers do.
    """

def isa() -> str:
    """
    The best instruction set of this machine that the engine has kernels for.
    """

def force_isa(isa: str) -> bool:
    """
    Chooses the instruction set of the engine's kernels: avx512, avx2, portable; "" for the best. False if there is no such.
    """

def limit_isa(isa: str) -> str:
    """
    From here on as on a machine that has no better instruction set than this. Why that cannot be: "" if it can.
    """

def built_isas() -> str:
    """The instruction sets that this build has copies of its loops for."""

def name_options(by_keyword: Mapping[str, str]) -> None:
    """
    What messages call the options of launches: those of the command line that runs, by keyword; {}: as Python does.
    """

def set_tracking(on: bool) -> None:
    """
    Whether launches ask triton_runner/_memory/uninit.py for memory that was never written.
    """

def set_pretend_cuda(on: bool) -> None:
    """
    Whether tensors on the CPU may say that they are on a CUDA device (--pretend-cuda).
    """

def load_simt(text: str, filename: str = '', name: str = '', params: list = [], options: dict = {}) -> Kernel:
    """
    Loads an entry of a PTX text into the SIMT engine (its only one where no name is given). params: (name, kind, type, bits) of what a launch gives, kind one of pointer, integer, float, tensordesc; empty: the text's own. Options: block and cluster (3 numbers each), where the text does not say them; grid_of_blocks (a launch's grid counts blocks, not clusters), shared (dynamic bytes; -1: the target's maximum), contract (mul and add as ptxas does), hidden_pointers, global_scratch_size, global_scratch_align, profile_scratch_size, profile_scratch_align, tensordesc_meta.
    """

def load_cubin(cubin: bytes, listing: str, filename: str = '', name: str = '', params: list = [], options: dict = {}) -> Kernel:
    """
    Loads a kernel of a cubin into the SIMT engine, from its bytes and from what nvdisasm -c -hex prints for them; the rest is as for load_simt.
    """

def load_amdgcn(text: str, filename: str = '', name: str = '', params: list = [], options: dict = {}) -> Kernel:
    """
    Loads a kernel of AMD's machine code, as LLVM writes it, into the SIMT engine; the rest is as for load_simt.
    """

def load_hsaco(hsaco: bytes, filename: str = '', name: str = '', params: list = [], options: dict = {}) -> Kernel:
    """
    Loads a kernel of a code object, decoded from its bytes, into the SIMT engine; the rest is as for load_simt.
    """

def amdgcn_of_hsaco(hsaco: bytes, filename: str = '') -> str:
    """
    The AMDGCN of a code object, decoded from its bytes: instructions, kernel descriptors, metadata and the program's lines, as LLVM writes them.
    """

def amdgcn_instruction(code: bytes, target: str) -> tuple[str, int]:
    """
    The instruction that some code of a target (gfx942) begins with, as LLVM prints it, and its bytes; a jump ends before the name of the place that it leads to.
    """

def max_shared_bytes(target: str) -> int:
    """
    Shared memory that a block of a target (cuda:90, hip:gfx942) may ask for, in bytes.
    """

def write_tensor_map(out: int, address: int, shape: Sequence[int], box: Sequence[int], element_bytes: int, swizzle: int = 0) -> None:
    """
    Writes the 128 bytes of a tensor descriptor (row major, shape and box in elements of 1, 2 or 4 bytes, swizzle 0: none to 3: 128 bytes) to the address out.
    """
