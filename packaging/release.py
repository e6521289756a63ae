"""What is released: programs by processor, and what is installed beside them, read once."""

import gzip
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import bill
from archives import Entry

REPOSITORY = Path(__file__).resolve().parent.parent
# Processors by their numbers in ELF files.
PROCESSORS = {62: "x86_64", 183: "aarch64"}
# And one by its number in programs for Windows.
PE_X86_64 = 0x8664
DESCRIPTION = """tare runs the same small benchmarks natively and inside containers, sandboxes and virtual machines, interleaved in
random order within one session, and reports each slowdown with a confidence interval and a verdict. It is one static
program, which copies itself into every environment and removes afterwards whatever it created."""


class Refused(Exception):
    """Why nothing is made; shown without a traceback."""


@dataclass
class Program:
    """A static program for one processor and system, with the bill of what it is made of."""

    processor: str
    data: bytes
    bill: bytes = b""
    system: str = "unknown-linux-gnu"

    @property
    def target(self):
        return f"{self.processor}-{self.system}"


@dataclass
class Release:
    version: str
    summary: str
    date: int
    # For Linux, one a processor.
    programs: list
    windows: Program | None
    # What every processor's packages hold besides: by the name of each file.
    pages: dict
    completions: dict
    documents: dict

    def files(self, program):
        """Each file below /usr of a system, but for completions of zsh, whose folder differs."""
        doc = "share/doc/tare"
        texts = self.documents | {"tare.cdx.json": program.bill}
        return (
            [Entry("bin/tare", program.data, 0o755)]
            + [Entry(f"share/man/man1/{name}.gz", zipped(page)) for name, page in self.pages.items()]
            + [Entry(f"{doc}/{name}", text) for name, text in texts.items()]
            + [
                Entry("share/bash-completion/completions/tare", self.completions["bash"]),
                Entry("share/fish/vendor_completions.d/tare.fish", self.completions["fish"]),
            ]
        )


def zipped(data):
    return gzip.compress(data, 9, mtime=0)


def processor_of(path):
    """The processor of a static Linux program; refuses whatever else a file may be."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise Refused(f"{path} is not a 64-bit Linux program")
    (machine,) = struct.unpack_from("<H", data, 18)
    (headers,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    if machine not in PROCESSORS:
        raise Refused(f"{path} is for a processor that no package is made for")
    interpreter = 3
    if any(struct.unpack_from("<I", data, headers + size * i)[0] == interpreter for i in range(count)):
        raise Refused(f"{path} is not static, and could not enter an empty environment")
    return PROCESSORS[machine], data


def of_windows(path):
    """The program for Windows, where it is there."""
    if not path.is_file():
        return None
    data = path.read_bytes()
    (header,) = struct.unpack_from("<I", data, 60) if data[:2] == b"MZ" else (0,)
    if data[header : header + 6] != b"PE\0\0" + struct.pack("<H", PE_X86_64):
        raise Refused(f"{path} is not a program for Windows on x86-64")
    return Program("x86_64", data, system="pc-windows-gnu")


def read(folder, date):
    """The release of the programs in a folder: `tare` runs here, `tare-PROCESSOR` is another processor's, `tare.exe` is for Windows."""
    here = folder / "tare"
    if not here.is_file():
        raise Refused(f"{here} is not there: ./dist without --programs builds it")

    def tare(*arguments):
        return subprocess.run([here, *arguments], check=True, capture_output=True).stdout

    programs = []
    for path in [here, *(folder / f"tare-{processor}" for processor in PROCESSORS.values())]:
        if path.is_file():
            processor, data = processor_of(path)
            if any(program.processor == processor for program in programs):
                raise Refused(f"{path} is for {processor}, as another one in {folder} is")
            if path != here and path.name != f"tare-{processor}":
                raise Refused(f"{path} is for {processor}")
            programs.append(Program(processor, data))
    windows = of_windows(folder / "tare.exe")
    if windows and all(program.processor != windows.processor for program in programs):
        raise Refused(f"{folder} has tare.exe, and not the program for distributions of WSL, which is beside it")
    metadata = {program.target: bill.metadata(program.target) for program in [*programs, *filter(None, [windows])]}
    for program in [*programs, *filter(None, [windows])]:
        program.bill = bill.of(metadata[program.target], date)
    version = tare("--version").split()[1].decode()
    described = bill.package(metadata[programs[0].target])
    if described["version"] != version:
        raise Refused(f"{here} is tare {version}, and this is the source of {described['version']}")
    with tempfile.TemporaryDirectory() as pages:
        tare("self", "man", pages)
        pages = {path.name: path.read_bytes() for path in sorted(Path(pages).iterdir())}
    completions = {shell: tare("self", "completions", shell) for shell in ["bash", "zsh", "fish"]}
    documents = {name: (REPOSITORY / name).read_bytes() for name in ["LICENSE", "README.md", "CHANGELOG.md"]}
    documents["LICENCES.txt"] = tare("self", "licences")
    return Release(version, described["description"], date, programs, windows, pages, completions, documents)
