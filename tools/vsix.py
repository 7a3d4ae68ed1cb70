"""Packs the extension for Visual Studio Code, editors/vscode, without npm.

python tools/vsix.py            writes dist/triton-runner-VERSION.vsix
python tools/vsix.py FOLDER     writes it there instead

A .vsix is a zip: the extension's files, a manifest in XML, and the types of files by their endings. The same
files give the same bytes. `code --install-extension FILE` installs it. The repository that the package names
is the one that this checkout was cloned from, where that is on a server.
"""

import json
import pathlib
import re
import subprocess
import sys
import zipfile
from xml.sax.saxutils import escape, quoteattr

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCE = ROOT / "editors" / "vscode"
# The file in the package, and where it comes from.
FILES = {
    "extension/package.json": SOURCE / "package.json",
    "extension/extension.js": SOURCE / "extension.js",
    "extension/README.md": SOURCE / "README.md",
    "extension/icon.png": SOURCE / "icon.png",
    "extension/LICENSE.txt": ROOT / "LICENSE",
    **{f"extension/grammars/{path.name}": path for path in sorted((SOURCE / "grammars").glob("*.json"))},
}
TYPES = {
    ".json": "application/json",
    ".js": "application/javascript",
    ".md": "text/markdown",
    ".png": "image/png",
    ".txt": "text/plain",
    ".vsixmanifest": "text/xml",
}
_SCHEMA = "http://schemas.microsoft.com/developer/vsx-schema/2011"
_OPC = "http://schemas.openxmlformats.org/package/2006/content-types"
_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'
_STAMP = (2000, 1, 1, 0, 0, 0)


def content_types() -> str:
    """The text of [Content_Types].xml."""
    rows = "".join(
        f"  <Default Extension={quoteattr(ending)} ContentType={quoteattr(kind)}/>\n"
        for ending, kind in TYPES.items()
    )
    return f'{_HEAD}<Types xmlns="{_OPC}">\n{rows}</Types>\n'


def manifest(package: dict) -> str:
    """The text of extension.vsixmanifest, made of what package.json says."""
    name, version, publisher = (quoteattr(package[key]) for key in ("name", "version", "publisher"))
    assets = {
        "Microsoft.VisualStudio.Code.Manifest": "extension/package.json",
        "Microsoft.VisualStudio.Services.Content.Details": "extension/README.md",
        "Microsoft.VisualStudio.Services.Content.License": "extension/LICENSE.txt",
        "Microsoft.VisualStudio.Services.Icons.Default": "extension/icon.png",
    }
    properties = {"Microsoft.VisualStudio.Code.Engine": package["engines"]["vscode"]}
    if "repository" in package:
        properties["Microsoft.VisualStudio.Services.Links.Source"] = package["repository"]["url"]
    stated = "".join(
        f'      <Property Id="{name}" Value={quoteattr(value)}/>\n' for name, value in properties.items()
    )
    rows = "".join(
        f'    <Asset Type="{kind}" Path="{path}" Addressable="true"/>\n' for kind, path in assets.items()
    )
    return f"""{_HEAD}<PackageManifest Version="2.0.0" xmlns="{_SCHEMA}">
  <Metadata>
    <Identity Language="en-US" Id={name} Version={version} Publisher={publisher}/>
    <DisplayName>{escape(package["displayName"])}</DisplayName>
    <Description xml:space="preserve">{escape(package["description"])}</Description>
    <Tags>{escape(",".join(package["keywords"]))}</Tags>
    <Categories>{escape(",".join(package["categories"]))}</Categories>
    <Properties>
{stated}    </Properties>
    <License>extension/LICENSE.txt</License>
    <Icon>extension/icon.png</Icon>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
{rows}  </Assets>
</PackageManifest>
"""


def origin() -> str:
    """The server's address that this checkout was cloned from; "" where there is none."""
    command = ["git", "-C", str(ROOT), "config", "--get", "remote.origin.url"]
    url = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    if match := re.fullmatch(r"git@([\w.-]+):(.+)", url):
        url = f"https://{match[1]}/{match[2]}"
    return url if url.startswith("https://") and "@" not in url else ""


def write(folder: pathlib.Path, repository: str = "") -> pathlib.Path:
    """Writes the package into a folder, and returns its path. repository: the address that it names."""
    package = json.loads((SOURCE / "package.json").read_text())
    if repository:
        package["repository"] = {"type": "git", "url": repository, "directory": "editors/vscode"}
    contents = {"extension.vsixmanifest": manifest(package).encode()}
    contents |= {"[Content_Types].xml": content_types().encode()}
    contents |= {name: path.read_bytes() for name, path in FILES.items()}
    contents["extension/package.json"] = (json.dumps(package, indent=2) + "\n").encode()
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{package['name']}-{package['version']}.vsix"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            info = zipfile.ZipInfo(name, _STAMP)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    return out


if __name__ == "__main__":
    print(write(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist"), origin()))
