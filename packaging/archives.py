"""Archives whose bytes follow from their contents: sorted, without owners, with one date."""

import gzip
import io
import tarfile
import time
import zipfile
from dataclasses import dataclass


@dataclass
class Entry:
    """A file by its path in an archive; a folder where there is no data."""

    path: str
    data: bytes | None
    mode: int = 0o644
    owner: int = 0


def folders(entries):
    """The folders in which entries lie, which archives list before them."""
    known = {entry.path for entry in entries}
    paths = {"/".join(entry.path.split("/")[:depth]) for entry in entries for depth in range(1, entry.path.count("/") + 1)}
    return [Entry(path, None, 0o755) for path in paths - known]


def tar(entries, date):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for entry in sorted(entries, key=lambda entry: entry.path):
            info = tarfile.TarInfo(entry.path)
            info.mode, info.mtime, info.uid, info.gid = entry.mode, date, entry.owner, entry.owner
            if entry.data is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(entry.data)
                archive.addfile(info, io.BytesIO(entry.data))
    return out.getvalue()


def tar_gz(entries, date):
    return gzip.compress(tar(entries, date), 9, mtime=0)


def zip(entries, date):
    out = io.BytesIO()
    # The format has no year before 1980.
    when = max(time.gmtime(date)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.path, when)
            info.create_system, info.external_attr = 3, (0o100000 | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.data)
    return out.getvalue()
