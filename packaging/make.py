"""Makes every form in which tare is installed, of programs that exist. `./dist` calls it."""

import argparse
import functools
import hashlib
import os
import shutil
import sys
from pathlib import Path

import homebrew
import oci
import release
import system
import tarball
import wheel
import windows

SYSTEMS = ["deb", "rpm", "apk", "archlinux"]


def forms(nfpm, downloads):
    """What makes each form."""
    made = {"tarball": tarball.make, "wheel": wheel.make, "oci": oci.make}
    made["windows"] = windows.make
    made |= {packager: functools.partial(system.maker(packager), nfpm=nfpm) for packager in SYSTEMS}
    made["homebrew"] = functools.partial(homebrew.make, downloads=downloads)
    return made


def why_not(form, asked, made):
    """Why a form is left out unless it is asked for; None where it is made."""
    if form == "windows" and not made.windows:
        return "tare.exe was not built"
    if form == "homebrew" and not asked.downloads:
        return "it needs --downloads URL"
    return None


def main():
    parser = argparse.ArgumentParser(prog="./dist", description=__doc__)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--forms", type=lambda text: text.split(","))
    parser.add_argument("--downloads", help="where the archives can be downloaded, for the Homebrew formula")
    asked = parser.parse_args()
    makers = forms(os.environ.get("NFPM") or shutil.which("nfpm"), asked.downloads)
    if unknown := set(asked.forms or []) - set(makers):
        raise release.Refused(f"no form is called {sorted(unknown)[0]}: there are {', '.join(makers)}")
    made = release.read(asked.programs, int(os.environ["SOURCE_DATE_EPOCH"]))
    left_out = {form: why_not(form, asked, made) for form in makers}
    wanted = asked.forms or [form for form in makers if not left_out[form]]
    asked.out.mkdir(parents=True, exist_ok=True)
    sums = {}
    for form in wanted:
        for name, data in makers[form](made):
            (asked.out / name).write_bytes(data)
            sums[name] = hashlib.sha256(data).hexdigest()
            print(f"{len(data):>10}  {name}")
    (asked.out / "SHA256SUMS").write_text("".join(f"{sums[name]}  {name}\n" for name in sorted(sums)))
    for form in (form for form in makers if form not in wanted):
        print(f"left out: {form}{': ' + left_out[form] if left_out[form] else ''}")


if __name__ == "__main__":
    try:
        main()
    except release.Refused as refused:
        sys.exit(f"error: {refused}")
