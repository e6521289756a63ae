# Builds tare for other processors and for Windows, and runs it under emulation and under Wine. Read by ../test for --targets.
#
# The compiler is the one that `cargo` starts where it has the target (`rustup target add TARGET`) and the machine has a
# cross linker and qemu-user. Otherwise it is Debian's, in a root folder of its own, as root on Debian: nothing is installed
# on the machine itself. Emulated programs start by a binfmt_misc that is private to a user namespace.

# Target, Debian's name of the processor, name in linkers and emulators, number in ELF files.
targets=(
    "aarch64-unknown-linux-gnu arm64 aarch64 b7"
    "riscv64gc-unknown-linux-gnu riscv64 riscv64 f3"
)
windows=x86_64-pc-windows-gnu
# Debian 13: the first with a compiler that is new enough for all, and with a Wine that starts what it makes for Windows.
targets_suite=trixie
targets_root=${TARE_TARGETS_ROOT:-$PWD/target/targets-root}
targets_built=${TARE_TARGETS_BUILT:-$PWD/target/targets}

# Whether the machine itself can build for a target and run what it has built.
machine_has() {
    local target=$1 processor=$2
    [ -d "$(rustc --print target-libdir --target "$target" 2>/dev/null)" ] &&
        command -v "$processor-linux-gnu-gcc" >/dev/null && command -v "qemu-$processor" >/dev/null
}

# Makes the root folder with Debian's compiler. About 6 GB, and two minutes where the mirror is near.
make_targets_root() {
    local packages=(
        rustc-web cargo-web gcc libc6-dev qemu-user rust-web-src gcc-mingw-w64-x86-64-win32 wine64 wine
        qemu-system-arm e2fsprogs xz-utils
    ) target debian processor number
    for target in "${targets[@]}"; do
        read -r _ debian processor number <<<"$target"
        packages+=("libstd-rust-web-dev:$debian" "gcc-$processor-linux-gnu" "libc6-dev-$debian-cross")
    done
    # Made before, when it held less.
    [ "$(cat "$targets_root/made" 2>/dev/null)" = "${packages[*]}" ] && return
    is_debian_root || return
    [ -e "$targets_root/etc/debian_version" ] || make_debian_root || return
    in_targets_root "
        export DEBIAN_FRONTEND=noninteractive
        dpkg --add-architecture arm64 && dpkg --add-architecture riscv64 && apt-get update -qq &&
        apt-get install -y -qq --no-install-recommends ${packages[*]} >/dev/null" &&
        echo "${packages[*]}" >"$targets_root/made"
}

# A Debian of the suite, and nothing more.
make_debian_root() {
    local work code=0
    work=$(mktemp -d)
    (cd "$work" && apt-get download -qq debootstrap && dpkg -x debootstrap_*.deb tools) &&
        DEBOOTSTRAP_DIR=$work/tools/usr/share/debootstrap "$work/tools/usr/sbin/debootstrap" \
            --variant=minbase "$targets_suite" "$targets_root" >/dev/null || code=1
    rm -r "$work"
    return $code
}

# Runs a shell command in the root folder. It sees this repository and the crates that are there, and nothing else.
in_targets_root() {
    local crates=${CARGO_HOME:-$HOME/.cargo}/registry
    mkdir -p "$targets_root/repository" "$targets_root/built" "$targets_root/root/.cargo/registry" "$targets_built" "$crates"
    unshare --mount sh -euc '
        root=$1
        # What is entered there has mounts of its own, which only a mount can have.
        mount --bind "$root" "$root"
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount --bind "$2" "$root/repository"
        # Tests know where they were built.
        mkdir -p "$root$2"
        mount --bind "$2" "$root$2"
        mount --bind "$3" "$root/built"
        mount --bind "$4" "$root/root/.cargo/registry"
        # Only a root of its own may make user namespaces, and not a folder that is called one.
        cd "$root"
        pivot_root . .
        umount -l .
        exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin CARGO_TARGET_DIR=/built \
            CARGO_NET_OFFLINE=true ${CARGO_BUILD_JOBS:+CARGO_BUILD_JOBS="$CARGO_BUILD_JOBS"} \
            CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
            CARGO_TARGET_RISCV64GC_UNKNOWN_LINUX_GNU_LINKER=riscv64-linux-gnu-gcc \
            CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc \
            sh -euc "cd /repository; $5"' sh "$targets_root" "$PWD" "$targets_built" "$crates" "$1"
}

# emulated QEMU NUMBER COMMAND...: programs of another processor start by QEMU, for this command alone, whose parent waits for
# whatever else loses its own. Tests find TARE_EMULATED, and expect less.
emulated() {
    TARE_EMULATED=yes unshare --user --map-root-user --mount --pid --fork --mount-proc sh -euc '
        mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
        zeros="\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00" ones="\\xff\\xff\\xff\\xff\\xff\\xff\\xff"
        printf "%s" ":other:M::\\x7fELF\\x02\\x01\\x01$zeros\\x00\\x02\\x00\\x$2\\x00:$ones\\x00$ones\\xff\\xfe\\xff\\xff\\xff:$1:F" \
            >/proc/sys/fs/binfmt_misc/register
        shift 2
        "$@"
        exit' sh "$@"
}

# Builds for a target what its tests need: the program and the tests of the agent, and the agent as it is released.
build_target() {
    local target=$1 processor=$2 command linker
    command="cargo build --locked --target $target -p tare &&
        cargo test --no-run --locked --target $target -p tare-probes &&
        cargo build --release --locked --target $target -p tare-probes --example agent"
    if machine_has "$target" "$processor"; then
        linker=CARGO_TARGET_$(tr a-z- A-Z_ <<<"$target")_LINKER
        env CARGO_TARGET_DIR="$targets_built" "$linker=$processor-linux-gnu-gcc" sh -c "$command"
    else
        in_targets_root "$command"
    fi
}

# Builds tare for Windows, the agent as it is released, and what stands in for wsl.exe.
build_windows() {
    if [ -d "$(rustc --print target-libdir --target "$windows" 2>/dev/null)" ] &&
        command -v x86_64-w64-mingw32-gcc >/dev/null; then
        CARGO_TARGET_DIR="$targets_built" sh -c "$(windows_commands)"
        return
    fi
    in_targets_root_for_windows "$(windows_commands $windows_library)"
}

# Debian has no standard library for Windows, so that it is built of its sources.
windows_library=-Zbuild-std=std,panic_abort

# Runs a shell command in the root folder, with what building for Windows takes there.
in_targets_root_for_windows() {
    local sources library=/usr/lib/rustlib/$windows/lib
    sources=$(cd "$targets_root" && echo usr/src/rustc-*/library)
    RUSTC_BOOTSTRAP=1 cargo fetch --quiet --locked --manifest-path "$targets_root/$sources/Cargo.toml" &&
        in_targets_root "
            export RUSTC_BOOTSTRAP=1
            # Only a standard library that is shipped has these two.
            mkdir -p $library
            for object in rsbegin rsend; do
                rustc --target $windows --emit obj -o $library/\$object.o /$sources/rtstartup/\$object.rs
            done
            $1"
}

# What builds for Windows, with further options of cargo's.
windows_commands() {
    echo "cargo build --locked $* --target $windows -p tare &&
        cargo build --release --locked $* --target $windows -p tare-probes --example agent --example wsl"
}

# Where they were built: the program, its agent alone, and what stands in for wsl.exe.
windows_program=$targets_built/$windows/debug/tare.exe
windows_agent=$targets_built/$windows/release/examples/agent.exe
windows_wsl=$targets_built/$windows/release/examples/wsl.exe

# Runs a shell command where Wine is: on the machine, if it is there, or in the root folder. The files of the folder
# $targets_built/wine are below $WINE_WORK.
where_wine_is() {
    if command -v wine64 >/dev/null; then
        WINE_WORK=$targets_built/wine sh -euc "$1"
    else
        in_targets_root "export WINE_WORK=/built/wine; $1"
    fi
}

# Runs a shell command where QEMU has machines of a processor: on the machine, if they are there, or in the root folder. The
# files of the folder $targets_built/guest are below $GUEST_WORK.
where_guests_are() {
    if command -v "qemu-system-$1" >/dev/null && command -v "qemu-$1" >/dev/null; then
        GUEST_WORK=$targets_built/guest sh -euc "$2"
    else
        in_targets_root "export GUEST_WORK=/built/guest; $2"
    fi
}

# The emulator of a processor: the machine's, or the one in the root folder, which is static.
emulator() {
    command -v "qemu-$1" || echo "$targets_root/usr/bin/qemu-$1"
}

# The newest program of a name in a folder of cargo's.
newest() {
    local found
    found=$(find "$1" -maxdepth 1 -name "$2-*" -type f -executable -printf '%T@ %p\n' | sort -n | tail -n 1)
    echo "${found#* }"
}

# The newest test binary of a target.
test_of() {
    newest "$targets_built/$1/debug/deps" "$2"
}

# What a session measured where it was emulated: fails unless every row of every environment has a figure, or is one that
# cannot be compared after so few rounds or where a processor is emulated. With the word or-not-supported, what the emulator
# does not have is a gap with its reason.
figures_of() {
    python3 -c '
import json, sys

rows = json.load(sys.stdin)["rows"]
cells = [(row["case"], cell) for row in rows for cell in row["cells"]]
def is_wanting(missing):
    # A figure that nothing is held against is one all the same: memory outside, where the baseline took less than it gave back.
    if missing.get("level"):
        return False
    if missing["kind"] == "not_supported" and missing.get("reason") and "or-not-supported" in sys.argv:
        return False
    # A gauge that a system does not show is a gap with its reason.
    return missing["kind"] != "not_comparable" and not (missing.get("reason") or "").endswith("does not show here")
missing = [(case, cell) for case, cell in cells if cell["missing"] and is_wanting(cell["missing"])]
compared = sum(bool(cell["comparison"]) for _, cell in cells)
print(f"{len(cells)} cells, {compared} compared, {len(missing)} missing")
for case, cell in missing:
    print(case, "in", cell["environment"] + ":", cell["missing"]["words"], cell["missing"].get("reason"))
sys.exit(not compared or bool(missing))' "$@"
}
