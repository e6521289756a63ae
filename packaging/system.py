"""Packages of systems, by nfpm: .deb, .rpm, .apk and Arch Linux's."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from archives import Entry
from release import DESCRIPTION, Refused, zipped

# How Debian and Go call processors.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MAINTAINER = "the tare maintainers <maintainers@tare.invalid>"


def files(release, program, packager):
    """Each file by its path in the system."""
    entries = [Entry(f"/usr/{entry.path}", entry.data, entry.mode) for entry in release.files(program)]
    zsh = "vendor-completions" if packager == "deb" else "site-functions"
    entries.append(Entry(f"/usr/share/zsh/{zsh}/_tare", release.completions["zsh"]))
    if packager == "deb":
        # Where Debian's own tools look for them.
        licence = next(entry for entry in entries if entry.path.endswith("/LICENSE"))
        changes = next(entry for entry in entries if entry.path.endswith("/CHANGELOG.md"))
        licence.path = "/usr/share/doc/tare/copyright"
        changes.path, changes.data = "/usr/share/doc/tare/changelog.gz", zipped(changes.data)
    return entries


def package(nfpm, packager, release, program):
    """The name and the bytes of one package."""
    date = (release.date, release.date)
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        contents = []
        for number, entry in enumerate(sorted(files(release, program, packager), key=lambda entry: entry.path)):
            source = work / f"{number:03}"
            source.write_bytes(entry.data)
            os.utime(source, date)
            contents.append({"src": str(source), "dst": entry.path, "file_info": {"mode": entry.mode}})
        # Alpine and Arch Linux have a line for it.
        more = f"\n{DESCRIPTION}" if packager in ("deb", "rpm") else ""
        config = {
            "name": "tare",
            "arch": ARCHITECTURES[program.processor],
            "platform": "linux",
            "version": release.version,
            "release": "1",
            "section": "utils",
            "priority": "optional",
            "maintainer": MAINTAINER,
            "description": release.summary + more,
            "license": "MIT",
            "contents": contents,
            # What a machine would otherwise put in by itself.
            "rpm": {"buildhost": "tare.invalid"},
            "archlinux": {"packager": MAINTAINER},
        }
        # JSON is YAML.
        (work / "nfpm.yaml").write_text(json.dumps(config))
        (work / "made").mkdir()
        command = [nfpm, "package", "--config", work / "nfpm.yaml", "--packager", packager, "--target", work / "made"]
        # Compressors divide their work by the number of processors, and the bytes follow.
        environment = os.environ | {"SOURCE_DATE_EPOCH": str(release.date), "GOMAXPROCS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise Refused(f"nfpm made no {packager}: {done.stderr.strip() or done.stdout.strip()}")
        (made,) = (work / "made").iterdir()
        return made.name, made.read_bytes()


def maker(packager):
    """What makes the packages of one kind."""

    def make(release, nfpm):
        if not nfpm:
            raise Refused(f"nfpm makes the {packager} package and is not installed")
        for program in release.programs:
            yield package(nfpm, packager, release, program)

    return make
