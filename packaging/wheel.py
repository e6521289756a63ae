"""The wheel, which `pip install` and `uv tool install` take: the program as a script, with its pages and completions."""

import base64
import hashlib

from archives import Entry, zip

# Static: right beside any C library, and for any Python.
PLATFORMS = ["manylinux_2_17", "manylinux2014", "musllinux_1_1"]
INSTALLED = {"bash": "bash-completion/completions/tare", "zsh": "zsh/site-functions/_tare"}
INSTALLED["fish"] = "fish/vendor_completions.d/tare.fish"


def metadata(release):
    head = [
        "Metadata-Version: 2.4",
        "Name: tare",
        f"Version: {release.version}",
        f"Summary: {release.summary}",
        "License-Expression: MIT",
        "License-File: LICENSE",
        "License-File: LICENCES.txt",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Topic :: System :: Benchmark",
        "Requires-Python: >=3.7",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(head).encode() + b"\n\n" + release.documents["README.md"]


def record(entries, path):
    """The list of files with their digests, as installers check them."""
    lines = []
    for entry in entries:
        digest = base64.urlsafe_b64encode(hashlib.sha256(entry.data).digest()).rstrip(b"=").decode()
        lines.append(f"{entry.path},sha256={digest},{len(entry.data)}\n")
    return "".join(lines + [f"{path},,\n"]).encode()


def make(release):
    for program in release.programs:
        tags = [f"{platform}_{program.processor}" for platform in PLATFORMS]
        wheel = ["Wheel-Version: 1.0", "Generator: tare", "Root-Is-Purelib: false"]
        wheel += [f"Tag: py3-none-{tag}" for tag in tags]
        data, info = f"tare-{release.version}.data", f"tare-{release.version}.dist-info"
        entries = [Entry(f"{data}/scripts/tare", program.data, 0o755)]
        entries += [Entry(f"{data}/data/share/man/man1/{name}", page) for name, page in release.pages.items()]
        entries += [Entry(f"{data}/data/share/{INSTALLED[s]}", text) for s, text in release.completions.items()]
        entries += [
            Entry(f"{info}/METADATA", metadata(release)),
            Entry(f"{info}/WHEEL", "\n".join(wheel).encode() + b"\n"),
            Entry(f"{info}/licenses/LICENSE", release.documents["LICENSE"]),
            Entry(f"{info}/licenses/LICENCES.txt", release.documents["LICENCES.txt"]),
            Entry(f"{info}/sboms/tare.cdx.json", program.bill),
        ]
        entries.append(Entry(f"{info}/RECORD", record(entries, f"{info}/RECORD")))
        yield f"tare-{release.version}-py3-none-{'.'.join(tags)}.whl", zip(entries, release.date)
