"""Packs the extension for Visual Studio Code, editors/vscode, without npm.

python tools/vsix.py            writes dist/triton-runner-VERSION.vsix
python tools/vsix.py FOLDER     writes it there instead

A .vsix is a zip: the extension's files, a manifest in XML, and the types of files by their endings. The same
files give the same bytes. `code --install-extension FILE` installs it.
"""

import json
import pathlib
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
    "extension/LICENSE.txt": ROOT / "LICENSE",
}
TYPES = {
    ".json": "application/json",
    ".js": "application/javascript",
    ".md": "text/markdown",
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
    }
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
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={quoteattr(package["engines"]["vscode"])}/>
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
{rows}  </Assets>
</PackageManifest>
"""


def write(folder: pathlib.Path) -> pathlib.Path:
    """Writes the package into a folder, and returns its path."""
    package = json.loads((SOURCE / "package.json").read_text())
    contents = {"extension.vsixmanifest": manifest(package), "[Content_Types].xml": content_types()}
    contents |= {name: path.read_text() for name, path in FILES.items()}
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{package['name']}-{package['version']}.vsix"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in contents.items():
            info = zipfile.ZipInfo(name, _STAMP)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, text)
    return out


if __name__ == "__main__":
    print(write(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist")))
