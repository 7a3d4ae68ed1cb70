"""Prints what the package in the folder site, whose extension has one release more, and the lists of tests
and tools say of that release: JSON for test_releases.py.

    python tests/python/helpers/invented_release.py SITE
"""

import json
import pathlib
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
        }
    )
)
