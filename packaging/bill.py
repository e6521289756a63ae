"""The bill of materials (CycloneDX): every crate that is linked, with its licence, its checksum and what it needs."""

import datetime
import json
import os
import subprocess
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def metadata(target):
    """What cargo knows of the crates for a target."""
    command = [os.environ.get("CARGO", "cargo"), "metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", target]
    return json.loads(subprocess.run(command, check=True, capture_output=True, cwd=REPOSITORY).stdout)


def package(metadata):
    """The program's own crate."""
    return next(package for package in metadata["packages"] if package["name"] == "tare")


def needs(metadata):
    """For each crate that is linked, the crates that it needs."""
    macros = {p["id"] for p in metadata["packages"] if any("proc-macro" in part["kind"] for part in p["targets"])}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    linked, ahead = {}, [package(metadata)["id"]]
    while ahead:
        if (id := ahead.pop()) in linked:
            continue
        normal = [dep["pkg"] for dep in nodes[id]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
        linked[id] = sorted(set(normal) - macros)
        ahead += linked[id]
    return linked


def of(metadata, date):
    """The bill as bytes."""
    packages = {package["id"]: package for package in metadata["packages"]}
    with open(REPOSITORY / "Cargo.lock", "rb") as lock:
        sums = {(p["name"], p["version"]): p.get("checksum") for p in tomllib.load(lock)["package"]}

    def component(id):
        package = packages[id]
        name, version = package["name"], package["version"]
        purl = f"pkg:cargo/{name}@{version}"
        entry = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
        if package.get("license"):
            entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        if sums.get((name, version)):
            entry["hashes"] = [{"alg": "SHA-256", "content": sums[(name, version)]}]
        return entry

    root, linked = package(metadata)["id"], needs(metadata)
    made = datetime.datetime.fromtimestamp(date, datetime.timezone.utc)
    application = component(root) | {"type": "application"}
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": application},
        "components": [component(id) for id in sorted(linked) if id != root],
        "dependencies": [
            {"ref": component(id)["purl"], "dependsOn": [component(need)["purl"] for need in needed]}
            for id, needed in sorted(linked.items())
        ],
    }
    return json.dumps(bill, indent=1).encode() + b"\n"
