"""The Homebrew formula, which downloads the archive of the processor."""

import hashlib

import tarball
from release import Refused

ON = {"x86_64": "on_intel", "aarch64": "on_arm"}
FORMULA = """class Tare < Formula
  desc "{summary}"
  homepage "{downloads}"
  version "{version}"
  license "MIT"

{sources}
  depends_on :linux

  def install
    bin.install "tare"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/tare.bash" => "tare"
    zsh_completion.install "completions/_tare"
    fish_completion.install "completions/tare.fish"
    doc.install "README.md", "LICENCES.txt", "tare.cdx.json"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/tare --version")
  end
end
"""
SOURCE = """  {on} do
    url "{downloads}/{name}.tar.gz"
    sha256 "{sha256}"
  end
"""


def make(release, downloads):
    if not downloads:
        raise Refused("a formula names where the archives are: --downloads URL")
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in tarball.make(release)}
    sources = []
    for program in release.programs:
        name = tarball.name(release, program)
        source = SOURCE.format(
            on=ON[program.processor], downloads=downloads, name=name, sha256=sums[f"{name}.tar.gz"]
        )
        sources.append(source)
    text = FORMULA.format(
        summary=release.summary, downloads=downloads, version=release.version, sources="\n".join(sources)
    )
    yield "tare.rb", text.encode()
