"""The archive that any system unpacks: the program, its pages, completions, licences and bill of materials."""

from archives import Entry, folders, tar_gz

COMPLETIONS = {"bash": "tare.bash", "zsh": "_tare", "fish": "tare.fish"}


def name(release, program):
    return f"tare-{release.version}-{program.target}"


def make(release):
    for program in release.programs:
        files = {"tare": program.data, "tare.cdx.json": program.bill} | release.documents
        files |= {f"man/man1/{page}": data for page, data in release.pages.items()}
        files |= {f"completions/{COMPLETIONS[shell]}": text for shell, text in release.completions.items()}
        top = name(release, program)
        entries = [Entry(f"{top}/{path}", data, 0o755 if path == "tare" else 0o644) for path, data in files.items()]
        yield f"{top}.tar.gz", tar_gz(entries + folders(entries), release.date)
