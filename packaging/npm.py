"""npm packages: one a processor with the program, and `tare`, which depends on them all and starts the one that fits."""

import json
from pathlib import Path

from archives import Entry, tar_gz

# How Node calls processors.
PROCESSORS = {"x86_64": "x64", "aarch64": "arm64"}


def package(release, description, entries):
    """The bytes of a package: its description, the licence and these files."""
    common = {"version": release.version, "license": "MIT", "preferUnplugged": True}
    description = json.dumps(description | common, indent=2).encode() + b"\n"
    entries = [Entry("package.json", description), Entry("LICENSE", release.documents["LICENSE"]), *entries]
    entries = [Entry(f"package/{entry.path}", entry.data, entry.mode) for entry in entries]
    return tar_gz(entries, release.date)


def make(release):
    names = {}
    for program in release.programs:
        processor = PROCESSORS[program.processor]
        name = names[processor] = f"tare-linux-{processor}"
        description = {
            "name": name,
            "description": f"tare for Linux on {processor}; install tare, which takes the one that fits",
            "os": ["linux"],
            "cpu": [processor],
        }
        entries = [
            Entry("tare", program.data, 0o755),
            Entry("LICENCES.txt", release.documents["LICENCES.txt"]),
            Entry("tare.cdx.json", program.bill),
        ]
        yield f"{name}-{release.version}.tgz", package(release, description, entries)
    description = {
        "name": "tare",
        "description": release.summary,
        "bin": {"tare": "start.js"},
        "man": [f"./man/{name}" for name in release.pages],
        "engines": {"node": ">=16"},
        "optionalDependencies": {name: release.version for name in sorted(names.values())},
    }
    start = Path(__file__).with_name("start.js").read_bytes()
    entries = [Entry("start.js", start, 0o755), Entry("README.md", release.documents["README.md"])]
    entries += [Entry(f"man/{name}", page) for name, page in release.pages.items()]
    yield f"tare-{release.version}.tgz", package(release, description, entries)
