"""The image (OCI layout in one tar), for every processor in one: it holds the program and nothing that could be run besides.

It runs as any user, with a read-only root: what a session writes goes below /results and /var/tmp.
"""

import datetime
import gzip
import hashlib
import json

from archives import Entry, folders, tar, tar_gz

# How Go calls processors.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# Nobody's, unless the platform chooses another.
USER = 65532
WRITABLE = ["results", "tmp", "var/tmp"]


def layer(release, program):
    """The files of the image."""
    passwd = f"root:x:0:0::/:/\ntare:x:{USER}:{USER}::/results:/\n".encode()
    documents = {name: release.documents[name] for name in ["LICENSE", "LICENCES.txt"]}
    files = {"etc/passwd": passwd, "etc/group": f"root:x:0:\ntare:x:{USER}:\n".encode()}
    files |= {f"usr/share/doc/tare/{name}": text for name, text in documents.items()}
    files["usr/share/doc/tare/tare.cdx.json"] = program.bill
    entries = [Entry(path, data) for path, data in files.items()] + [Entry("usr/bin/tare", program.data, 0o755)]
    # Whoever runs it may write there, as in /tmp anywhere.
    entries += [Entry(path, None, 0o1777) for path in WRITABLE]
    return entries + folders(entries)


def config(release, program, digest, date):
    return {
        "created": date,
        "architecture": ARCHITECTURES[program.processor],
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "Env": ["PATH=/usr/bin", "HOME=/results"],
            "Entrypoint": ["/usr/bin/tare"],
            "WorkingDir": "/results",
            "Volumes": {f"/{path}": {} for path in WRITABLE},
            "Labels": labels(release),
        },
        "rootfs": {"type": "layers", "diff_ids": [digest]},
        "history": [{"created": date, "created_by": "./dist"}],
    }


def labels(release):
    named = {"title": "tare", "description": release.summary, "version": release.version, "licenses": "MIT"}
    return {f"org.opencontainers.image.{key}": value for key, value in named.items()}


def make(release):
    date = datetime.datetime.fromtimestamp(release.date, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    blobs = []

    def descriptor(kind, data, **more):
        sha256 = hashlib.sha256(data).hexdigest()
        blobs.append(Entry(f"blobs/sha256/{sha256}", data))
        media = f"application/vnd.oci.image.{kind}"
        return {"mediaType": media, "digest": f"sha256:{sha256}", "size": len(data)} | more

    def document(kind, value, **more):
        return descriptor(kind, json.dumps(value, sort_keys=True).encode(), **more)

    manifests = []
    for program in release.programs:
        files = tar(layer(release, program), release.date)
        digest = f"sha256:{hashlib.sha256(files).hexdigest()}"
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": document("config.v1+json", config(release, program, digest, date)),
            "layers": [descriptor("layer.v1.tar+gzip", gzip.compress(files, 9, mtime=0))],
        }
        platform = {"architecture": ARCHITECTURES[program.processor], "os": "linux"}
        manifests.append(document("manifest.v1+json", manifest, platform=platform))
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}
    named = {"org.opencontainers.image.ref.name": release.version, "io.containerd.image.name": f"tare:{release.version}"}
    top = index | {"manifests": [document("index.v1+json", index, annotations=named)]}
    blobs += [
        Entry("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'),
        Entry("index.json", json.dumps(top, sort_keys=True).encode()),
    ]
    yield f"tare-{release.version}-oci.tar", tar(blobs + folders(blobs), release.date)
