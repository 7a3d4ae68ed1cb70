"""Prints what the package in the folder site, whose extension has one release more, and the lists of tests
and tools say of that release: JSON for test_releases.py.

    python tests/python/helpers/invented_release.py SITE
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
SITE = pathlib.Path(sys.argv[1])
# The package of SITE in place of the one that is installed editable.
sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != "ScikitBuildRedirectingFinder"]
sys.path[:1] = [str(SITE), str(ROOT / "tests" / "corpus"), str(ROOT / "tools")]
import matrix  # noqa: E402
import releases  # noqa: E402
import releases_page  # noqa: E402
import triton_runner  # noqa: E402
from click.testing import CliRunner  # noqa: E402
from triton_runner._base.releases import release_of  # noqa: E402
from triton_runner._cli import main  # noqa: E402
from triton_runner._pipeline import versions  # noqa: E402

text = "module {\n  tt.func public @k() {\n    tt.return\n  }\n}\n"
(SITE / "k.ttir").write_text(text)


def cli(*arguments):
    done = CliRunner().invoke(main, [str(a) for a in arguments])
    return done.exit_code, done.output


(SITE / "poll.ttir").write_text(
    "module {\n  tt.func public @k(%p: !tt.ptr<i32>) {\n"
    "    %v = tt.atomic_load acquire, gpu, %p : (!tt.ptr<i32>) -> i32\n    tt.return\n  }\n}\n"
)


def imported_by_its_own_name():
    """Returns what a process prints that imports the module of the distribution, which is `triton` there."""
    package = SITE / "folder" / "invented_triton"
    (package / "language").mkdir(parents=True)
    (package / "__init__.py").write_text("from . import language\n__version__ = '3.7.9+inv'\n")
    (package / "language" / "__init__.py").write_text("class dtype: pass\n")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from triton_runner._base import renamed\n"
        # The invented package has no runtime to take the place in.
        "sys.meta_path[:] = [one for one in sys.meta_path if not hasattr(one, 'waits_for_triton')]\n"
        "renamed.prefer(sys.argv[2], 'invented_triton')\n"
        "import invented_triton.language as tl, triton.language\n"
        "print(tl is triton.language, tl.dtype.__module__, sys.modules['invented_triton'] is triton,\n"
        "      triton.__spec__.name)"
    )
    command = [sys.executable, "-c", code, str(SITE), str(package.parent)]
    return subprocess.run(command, capture_output=True, text=True).stdout.split()


texts = {path.name: text for path, text in releases_page.texts().items()}
print(
    json.dumps(
        {
            "of": triton_runner.__file__,
            "facts": [
                getattr(release_of("3.10.0"), n) for n in ("hidden_pointers", "run_field", "second_ptxas")
            ],
            "newer": release_of("3.11.0").version,
            "expand": versions.expand("3.9.0..3.10.0"),
            "all": versions.expand("all")[-1],
            "ls": cli("versions"),
            "add": cli("versions", "add", "3.10.1"),
            "unknown": cli("versions", "add", "3.10.2"),
            "compile": cli("compile", SITE / "k.ttir", "-t", "cuda:90", "--triton", "3.10.1"),
            "translate": json.loads(
                cli("translate", SITE / "k.ttir", "--from", "3.10.1", "--to", "3.10.1", "--json")[1]
            ),
            "ops": cli("ops", "--release", "3.10", "tt.load"),
            "corpus": matrix.RELEASES[-1],
            "rows": [row.name for row in matrix.ROWS if row.release == "3.10.1"],
            "nearest": matrix.nearest("3.10.0"),
            "tests": [releases.NEWEST[-1], releases.FEW[-1]],
            "texts": texts,
            "fork": {
                "facts": [release_of(v).hidden_pointers for v in ("invented-3.7.9", "3.7.9+inv", "3.7.1")],
                "expand": versions.expand("invented,3.7.1,invented-triton==3.7.8"),
                "ls": cli("versions")[1],
                "add": cli("versions", "add", "invented-triton==3.7.9"),
                "compile": cli("compile", SITE / "k.ttir", "-t", "cuda:90", "--triton", "invented"),
                "unknown": cli("versions", "add", "invented-3.7.10"),
                "translate": json.loads(
                    cli("translate", SITE / "k.ttir", "--from", "invented", "--to", "invented", "--json")[1]
                ),
                "poll": cli("translate", SITE / "poll.ttir", "--to", "3.7.1"),
                "kept": cli("translate", SITE / "poll.ttir", "--to", "invented-3.7.9"),
                "ops": cli("ops", "--release", "invented-3.7.9", "--json"),
                "module": imported_by_its_own_name(),
            },
        }
    )
)
