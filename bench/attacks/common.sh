# Read by the attacks beside it: bounds, a folder of its own, and the three ends of an attack.
#
# An attack first does the honest form of what it abuses. It ends with 0 only where that worked and the attack failed, with 1 where
# either is not so, and with 77 and a reason where it cannot be tried on this machine.
set -uo pipefail

# As root nothing reaches this machine's name, shared memory or mounts, whatever the attack or the program does.
if [ "$(id -u)" = 0 ] && [ "${ATTACK_NAMESPACES:-}" != own ]; then
    ATTACK_NAMESPACES=own exec unshare --uts --ipc --mount --propagation private -- "$BASH" "$0" "$@"
fi

ended=
# Ends an attack that failed, with 0. There is no other way to 0.
kept() {
    ended=kept
    exit 0
}
# Ends an attack that succeeded, or whose honest form failed, with 1.
broke() {
    echo "$*"
    exit 1
}
not_tried() {
    echo "$*"
    ended=untried
    exit 77
}
needs() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || not_tried "needs $program"
    done
}
# Finds the interpreter itself: a wrapper may look for it below HOME, which is another here.
needs_python() {
    python=$(HOME=$own_home python3 -c 'import sys; print(sys.executable)' 2>/dev/null) || not_tried "needs python3"
    export python
}
needs_root() { [ "$(id -u)" = 0 ] || not_tried "needs root"; }

tare=$(command -v -- "${1:?usage: $0 PROGRAM}") && tare=$(realpath "$tare") || broke "there is no program $1"
repository=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d /tmp/attack.XXXXXX)
chmod 755 "$work"
cd "$work" || exit 1
mkdir home cache config
own_home=$HOME
export tare work repository LC_ALL=C
export HOME=$work/home XDG_STATE_HOME=$work/state XDG_CACHE_HOME=$work/cache XDG_CONFIG_HOME=$work/config

# Undoes what the attack did to the machine: each overwrites it as it needs.
undo() { :; }
end() {
    local code=$?
    trap - EXIT
    case "$ended,$code" in kept,0 | untried,77) ;; *) code=1 ;; esac
    cd /
    undo
    bounded 60 "$tare" clean >/dev/null 2>&1
    rm -rf --one-file-system "$work"
    exit "$code"
}
trap end EXIT
trap 'exit 1' HUP INT TERM

# Runs a command for at most as many seconds; 124 or 137 where it had to be ended.
bounded() { timeout --kill-after=5 "$@"; }
was_ended() { [ "$1" = 124 ] || [ "$1" = 137 ]; }
# Waits at most as many seconds until a command succeeds.
await() {
    local tries=$(($1 * 20))
    shift
    until "$@"; do
        ((tries-- > 0)) || return 1
        sleep 0.05
    done
}

# Does the honest form: a command of tare's that ends with 0. Its output is in honest.txt.
honest() {
    bounded 150 "$tare" "$@" >honest.txt 2>&1 ||
        broke "the honest form fails with $?: tare $*: $(grep -m1 -e error -e caused honest.txt)"
}
# Measures a session in whose record an environment must be, too: NAME RECORD run WORDS...
honest_session() {
    local name=$1 record=$2
    shift 3
    honest run --record "$record" "$@"
    has_measured "$name" "$record" || broke "the honest form measures nothing in $name: tare run $*"
}
has_measured() { bounded 60 "$tare" report --json "$2" 2>/dev/null | grep -q "\"$1\""; }

# Journals of sessions that are not cleaned up.
journals() { find "$work/state" -name '*.journal' 2>/dev/null; }
is_begun() { [ -n "$(journals)" ]; }

# Kills a session that has begun, a few seconds later.
kill_session() {
    local seconds=$1 pid
    shift
    "$tare" "$@" >killed.txt 2>&1 &
    pid=$!
    await 60 eval "is_begun || ! kill -0 $pid 2>/dev/null"
    is_begun || broke "the session to be killed does not begin: $(tail -1 killed.txt)"
    sleep "$seconds"
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    is_begun || broke "the session ended before it was killed: $(tail -1 killed.txt)"
}
