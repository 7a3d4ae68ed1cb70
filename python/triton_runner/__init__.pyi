"""The public names of triton_runner; written by tools/stubs.py."""

from . import color_print as color_print
from . import gluon as gluon
from . import ir as ir
from . import language as language
from . import ptx as ptx
from . import testing as testing
from . import tlx as tlx
from . import torch_utils as torch_utils
from ._artifact.loading import load as load
from ._base.errors import DiagnosticError as DiagnosticError
from ._base.errors import KernelTrap as KernelTrap
from ._base.paths import get_file_dir as get_file_dir
from ._bisect.api import bisect as bisect
from ._case.capture import capture as capture
from ._case.case import open_case as open_case
from ._case.verdict import verify as verify
from ._compare.comparison import compare as compare
from ._compiler.compile import compile as compile
from ._compiler.export import export as export
from ._compiler.ledger import ledger as ledger
from ._compiler.passes import passes as passes
from ._compiler.resources import resources as resources
from ._debug.session import debug as debug
from ._dump.dumping import dumping as dumping
from ._dump.session import dumps as dumps
from ._jit.jit import configure_autotune_backend as configure_autotune_backend
from ._jit.jit import configure_jit_backend as configure_jit_backend
from ._jit.jit import jit as jit
from ._jit.jit import restore_autotune_backend as restore_autotune_backend
from ._jit.jit import restore_jit_backend as restore_jit_backend
from ._lockstep.lockstep import lockstep as lockstep
from ._memory.fault_log import faults as faults
from ._memory.ghost import ghost as ghost
from ._memory.registry import register_memory as register_memory
from ._memory.substitution import Substitution as Substitution
from ._memory.tracking import track_empty as track_empty
from ._profile.profiling import profile as profile
from ._reduce.reduce import reduce as reduce
from ._see.layout import layout as layout
from ._see.report import report as report
from ._see.source_map import source_map as source_map
from ._settings import using as using
from ._tune.api import autotune as autotune

__version__: str
