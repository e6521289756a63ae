# Installs the tools that tare is compared with, where that is allowed. Read by the scripts beside it.

# Installs those of the named tools that are missing, on Debian as root; elsewhere a row without its tool says so.
install_tools() {
    local tool missing=()
    for tool in "$@"; do
        command -v "$tool" >/dev/null || missing+=("$tool")
    done
    [ ${#missing[@]} = 0 ] && return
    if [ "$(id -u)" != 0 ] || [ ! -e /etc/debian_version ]; then
        echo "note: not Debian, or not root: ${missing[*]} not installed" >&2
        return
    fi
    export DEBIAN_FRONTEND=noninteractive
    for tool in "${missing[@]}"; do
        if [ "$tool" = netperf ]; then
            install_netperf
        else
            apt-get update -qq && apt-get install -y -qq --no-install-recommends "$tool" >/dev/null
        fi || echo "note: $tool could not be installed" >&2
    done
}

# netperf 2.7 is in Debian's non-free. Its list is read from a file of this script's own, so that the machine's
# sources stay as they are; the package is kept from starting its server, which answers whoever asks.
install_netperf() {
    local work code=0
    . /etc/os-release
    work=$(mktemp -d)
    cat >"$work/sources.list" <<END
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $VERSION_CODENAME non-free
END
    local only=(-o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o APT::Get::List-Cleanup=0)
    apt-get "${only[@]}" update -qq &&
        RUNLEVEL=1 apt-get "${only[@]}" install -y -qq --no-install-recommends netperf >/dev/null || code=$?
    rm -r "$work"
    # Where the package has started it all the same, it is stopped: the rows start their own, on loopback.
    [ ! -x /etc/init.d/netperf ] || /etc/init.d/netperf stop >/dev/null 2>&1 || true
    return $code
}
