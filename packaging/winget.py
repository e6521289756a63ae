"""The manifests of winget, which downloads the archive for Windows: version, installer, and what people read."""

import hashlib

import windows
from release import DESCRIPTION, Refused

PACKAGE = "tare.tare"
LOCALE = "en-US"
# The first version of the format by which an archive's folder can be on PATH: tare finds the agent for distributions beside
# itself, and would not beside a link.
FORMAT = "1.9.0"
HEAD = """PackageIdentifier: {package}
PackageVersion: {version}
"""
VERSION = """DefaultLocale: {locale}
ManifestType: version
ManifestVersion: {format}
"""
INSTALLER = """InstallerType: zip
NestedInstallerType: portable
NestedInstallerFiles:
  - RelativeFilePath: {top}\\tare.exe
    PortableCommandAlias: tare
ArchiveBinariesDependOnPath: true
Installers:
  - Architecture: x64
    InstallerUrl: {downloads}/{top}.zip
    InstallerSha256: {sha256}
ManifestType: installer
ManifestVersion: {format}
"""
READ = """PackageLocale: {locale}
Publisher: tare
PackageUrl: {downloads}
PackageName: tare
License: MIT
ShortDescription: {summary}
Description: |-
  {description}
ManifestType: defaultLocale
ManifestVersion: {format}
"""


def make(release, downloads):
    if not downloads:
        raise Refused("winget's manifests name where the archive is: --downloads URL")
    ((_, archive),) = windows.make(release)
    words = {
        "package": PACKAGE,
        "version": release.version,
        "locale": LOCALE,
        "format": FORMAT,
        "top": windows.name(release),
        "downloads": downloads,
        "sha256": hashlib.sha256(archive).hexdigest().upper(),
        "summary": release.summary,
        "description": DESCRIPTION.replace("\n", "\n  "),
    }
    for part, text in [("", VERSION), (".installer", INSTALLER), (f".locale.{LOCALE}", READ)]:
        yield f"{PACKAGE}{part}.yaml", (HEAD + text).format(**words).encode()
