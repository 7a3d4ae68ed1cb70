"""Tests the extension for Visual Studio Code: its manifest, the package that is made of it, and its script,
which runs in Node with a stand-in of the editor."""

import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile

import pytest
import tomllib
from triton_runner.verbs.debug.dap import life
from triton_runner.verbs.debug.target import LEVELS

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOURCE = ROOT / "editors" / "vscode"
sys.path.append(str(ROOT / "tools"))
import grammars  # noqa: E402
import vsix  # noqa: E402

PACKAGE = json.loads((SOURCE / "package.json").read_text())
DEBUGGER = PACKAGE["contributes"]["debuggers"][0]
ATTRIBUTES = DEBUGGER["configurationAttributes"]["launch"]["properties"]
EDITOR_ONLY = {"python"}  # what the extension itself reads


def test_versions_are_that_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert PACKAGE["version"] == project["version"]


def test_attributes_are_those_of_the_launch_request():
    assert set(ATTRIBUTES) - EDITOR_ONLY == set(life.LAUNCH)
    assert ATTRIBUTES["level"]["enum"] == list(LEVELS)
    assert all(attribute["description"].endswith(".") for attribute in ATTRIBUTES.values())


def test_configurations_use_attributes_that_there_are():
    snippets = [snippet["body"] for snippet in DEBUGGER["configurationSnippets"]]
    for configuration in [*DEBUGGER["initialConfigurations"], *snippets]:
        assert configuration["type"] == DEBUGGER["type"] == "triton"
        assert set(configuration) - {"type", "request", "name"} <= set(ATTRIBUTES)


def test_breakpoints_are_of_languages_that_are_known():
    """And "mlir", as which another extension may know TTIR."""
    own = {language["id"] for language in PACKAGE["contributes"]["languages"]}
    where = {row["language"] for row in PACKAGE["contributes"]["breakpoints"]}
    assert where == set(DEBUGGER["languages"]) == (own - {"llir"}) | {"python", "mlir"}
    started = re.search(r"LANGUAGES = (\[.*\]);", (SOURCE / "extension.js").read_text())[1]
    assert {*json.loads(started)} == where - {"sass"}


def test_each_level_is_a_language_with_its_grammar():
    languages = {row["id"]: row["extensions"][0] for row in PACKAGE["contributes"]["languages"]}
    assert languages == {name: f".{name}" for name in grammars.LANGUAGES}
    for row in PACKAGE["contributes"]["grammars"]:
        grammar = json.loads((SOURCE / row["path"]).read_text())
        assert grammar["scopeName"] == row["scopeName"] == f"source.{row['language']}"
        assert row["language"] in languages
    assert len(PACKAGE["contributes"]["grammars"]) == len(languages)


def test_the_package_says_what_it_is():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    licence = (ROOT / project["license"]["file"]).read_text()
    assert PACKAGE["license"] == "MIT" and licence.startswith("MIT License")
    header = (SOURCE / PACKAGE["icon"]).read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", header[16:]) == (256, 256)


@pytest.mark.parametrize("url", ["", "https://example.org/of/this.git"])
def test_the_repository_is_the_one_that_it_was_packed_from(url, tmp_path):
    with zipfile.ZipFile(vsix.write(tmp_path, url)) as archive:
        package = json.loads(archive.read("extension/package.json"))
        text = archive.read("extension.vsixmanifest").decode()
    assert ("Services.Links.Source" in text) == bool(url) == ("repository" in package)
    assert url in text and package.get("repository", {}).get("url", "") == url


@pytest.mark.parametrize(
    "origin, url",
    [("https://example.org/a/b.git", "https://example.org/a/b.git"), ("git@example.org:a/b.git", "https://example.org/a/b.git"),
     ("https://me:secret@example.org/a/b.git", ""), ("/somewhere/here", ""), ("", "")],
    ids=["https", "ssh", "with a password", "a folder", "none"],
)  # fmt: skip
def test_the_address_of_a_checkout(origin, url, tmp_path, monkeypatch):
    monkeypatch.setattr(vsix, "ROOT", tmp_path)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    if origin:
        subprocess.run(["git", "-C", str(tmp_path), "remote", "add", "origin", origin], check=True)
    assert vsix.origin() == url


def test_package(tmp_path):
    path = vsix.write(tmp_path)
    assert path.name == f"triton-runner-{PACKAGE['version']}.vsix"
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        texts = {name: archive.read(name).decode("utf-8", "replace") for name in archive.namelist()}
    manifest = ET.fromstring(texts["extension.vsixmanifest"])
    space = {"v": manifest.tag.partition("}")[0].removeprefix("{")}
    identity = manifest.find("v:Metadata/v:Identity", space)
    assert identity.get("Id") == PACKAGE["name"] and identity.get("Version") == PACKAGE["version"]
    for asset in manifest.findall("v:Assets/v:Asset", space):
        assert asset.get("Path") in texts
    assert manifest.find("v:Metadata/v:License", space).text in texts
    named = [PACKAGE["main"], PACKAGE["icon"], *(row["path"] for row in PACKAGE["contributes"]["grammars"])]
    assert {f"extension/{path.removeprefix('./')}" for path in named} <= {*texts}
    types = {row.get("Extension") for row in ET.fromstring(texts["[Content_Types].xml"])}
    assert {f".{name.rpartition('.')[2]}" for name in texts} - {".xml"} <= types
    assert vsix.write(tmp_path / "again").read_bytes() == path.read_bytes()


STAND_IN = pathlib.Path(__file__).with_name("vscode_stand_in.js")


def run_in_node(**settings) -> dict:
    node = shutil.which("node")
    if node is None:
        pytest.skip("the extension's script needs Node to run")
    command = [node, str(STAND_IN), str(SOURCE / "extension.js"), json.dumps(settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_script_starts_the_debugger():
    out = run_in_node(configuration={"python": "/opt/python", "cwd": "/work"}, python="/other")
    words = ["-m", "triton_runner", "debug", "--dap"]
    assert out["descriptor"] == {"command": "/opt/python", "args": words, "options": {"cwd": "/work"}}
    assert out["count"] == 2


@pytest.mark.parametrize(
    "settings, python",
    [({"python": "/set/python", "interpreter": "/chosen/python"}, "/set/python"),
     ({"interpreter": "/chosen/python"}, "/chosen/python"), ({}, "python3")],
    ids=["of the settings", "of the Python extension", "of the system"],
)  # fmt: skip
def test_the_script_chooses_the_python(settings, python):
    assert run_in_node(**settings)["descriptor"]["command"] == python


def test_the_script_completes_a_configuration():
    out = run_in_node(language="python")
    assert out["empty"]["type"] == "triton" and out["empty"]["program"] == "${file}"
    assert out["checked"] and "needs a program" in out["error"] and out["kept"]["program"] == "x.py"
    assert "type" not in run_in_node(language="cpp")["empty"]
