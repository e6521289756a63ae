"""The archive for Windows: the program, and the one for Linux beside it, which enters distributions of WSL."""

from archives import Entry, zip
from release import Refused

# What the program for Windows looks for beside itself.
AGENT = "tare-x86_64"


def name(release):
    return f"tare-{release.version}-{release.windows.target}"


def make(release):
    if not release.windows:
        raise Refused("tare.exe was not built")
    linux = next(program for program in release.programs if program.processor == release.windows.processor)
    files = {"tare.exe": release.windows.data, AGENT: linux.data, "tare.cdx.json": release.windows.bill}
    files |= release.documents
    top = name(release)
    yield f"{top}.zip", zip([Entry(f"{top}/{path}", data, 0o755) for path, data in files.items()], release.date)
