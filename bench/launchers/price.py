#!/usr/bin/env python3
"""Holds what tare says that entering adds against calls by hand: price.py PROGRAM TINY [CALLS].

TINY is the tiny program of a build (target/.../build/tare-probes-*/out/tiny). By hand each launcher and nothing at all take turns, call by
call, with the same program and words that tare uses. It ends with 0 where each difference is within 5 % or 0.1 ms.
"""
import json, os, shutil, statistics, subprocess, sys, tempfile, time

program, tiny = (os.path.realpath(path) for path in sys.argv[1:3])
calls = int(sys.argv[3]) if len(sys.argv) > 3 else 100
LAUNCHERS = {
    "user": "unshare --user --map-root-user --",
    "pids": "unshare --user --map-root-user --pid --fork --mount-proc --",
    "privileges": "setpriv --no-new-privs",
    "mounts": "bwrap --dev-bind / / --",
    "apart": "bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --unshare-all --die-with-parent --",
    "jail": "firejail --quiet --noprofile --",
    "traced-paths": "proot -0",
}


def timed(words):
    """Runs words as a caller does, and returns the time in ms until they have ended and their output has."""
    began = time.monotonic_ns()
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        output = child.stdout.read()
        child.wait()
    taken = time.monotonic_ns() - began
    return taken / 1e6 if b"@tare-ended 77 " in output and child.returncode == 0 else None


found = {name: words.split() for name, words in LAUNCHERS.items() if shutil.which(words.split()[0])}
# Some launchers hide /tmp and /var/tmp.
folder = tempfile.mkdtemp(prefix="price.", dir=os.getcwd())
copy = shutil.copy(tiny, folder)
ends = [copy, "77", copy]
found = {name: words for name, words in found.items() if timed(words + ends)}
by_hand = {name: [] for name in found}
for _ in range(calls):
    for name, words in found.items():
        alone, entered = timed(ends), timed(words + ends)
        by_hand[name].append((alone, entered))
entries = [f"--enter={name}={' '.join(words)}" for name, words in found.items()]
record = os.path.join(folder, "1.tare")
rounds = max(12, calls // 4)
subprocess.run([program, "run", "calls", "--in", "native", *entries, "--only", "env.call", "--scratch", folder, "--rounds", str(rounds), "--record", record],
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
report = json.loads(subprocess.run([program, "report", record, "--json"], stdout=subprocess.PIPE).stdout)
row = next(row for row in report["rows"] if row["probe"] == "env.call" and row["headline"])
failed = 0
print(f"{'launcher':12} {'by hand':>9} {'adds':>9} {'tare':>9} {'adds':>9} {'apart':>7}")
for cell in row["cells"]:
    name, comparison = cell["environment"], cell["comparison"]
    if name not in by_hand or not comparison:
        continue
    hand = statistics.median(entered for _, entered in by_hand[name])
    added = statistics.median(entered - alone for alone, entered in by_hand[name])
    value, base = comparison["value"] / 1e6, row["baseline"]["median"] / 1e6
    apart = (value - base) - added
    is_near = abs(apart) <= max(0.05 * added, 0.1)
    failed += not is_near
    print(f"{name:12} {hand:9.3f} {added:9.3f} {value:9.3f} {value - base:9.3f} {apart:+7.3f}{'' if is_near else '  FAR'}")
native = statistics.median(alone for pairs in by_hand.values() for alone, _ in pairs)
print(f"native by hand {native:.3f} ms, tare {row['baseline']['median'] / 1e6:.3f} ms; {calls} calls by hand, {rounds} rounds")
shutil.rmtree(folder)
sys.exit(failed > 0)
