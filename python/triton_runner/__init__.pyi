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
from ._jit.jit import configure_autotune_backend as configure_autotune_backend
from ._jit.jit import configure_jit_backend as configure_jit_backend
from ._jit.jit import jit as jit
from ._jit.jit import restore_autotune_backend as restore_autotune_backend
from ._jit.jit import restore_jit_backend as restore_jit_backend
from ._kernel.cases.capture import capture as capture
from ._kernel.cases.case import open_case as open_case
from ._kernel.compiling.compile import compile as compile
from ._kernel.compiling.ledger import ledger as ledger
from ._kernel.compiling.passes import passes as passes
from ._kernel.compiling.resources import resources as resources
from ._kernel.cost.profiling import profile as profile
from ._kernel.dumps.dumping import dumping as dumping
from ._kernel.dumps.requests import dumps as dumps
from ._kernel.layout import layout as layout
from ._kernel.lockstep.lockstep import lockstep as lockstep
from ._kernel.page.report import report as report
from ._kernel.source_map import source_map as source_map
from ._memory.fault_log import faults as faults
from ._memory.ghost import ghost as ghost
from ._memory.registry import register_memory as register_memory
from ._memory.substitution import Substitution as Substitution
from ._memory.tracking import track_empty as track_empty
from ._settings import using as using
from .verbs.bisect.run import bisect as bisect
from .verbs.compare.run import compare as compare
from .verbs.debug.session import debug as debug
from .verbs.export.run import export as export
from .verbs.reduce.run import reduce as reduce
from .verbs.tune.run import autotune as autotune
from .verbs.verify.run import verify as verify

__version__: str
