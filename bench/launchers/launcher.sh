# Read by the launchers beside it: the bounds and ends of a place, and sessions that enter by a launcher.
#
# A launcher is right where a call is priced only if its command ran, and where one that cannot be entered is told why within 20 s.
. "$(dirname "$0")/../places/place.sh"

# Makes a launcher of the lines on standard input.
launcher() { cat >box && chmod 755 box; }
# Calls a command natively and by the launcher. Its output is in said.txt.
call() {
    bounded 200 ./tare run --calls --in native --enter box=./box --rounds 3 --record 1.tare "$@" >"$work/said.txt" 2>&1
}
# Enters by the launcher, which must take at most as many seconds. Its output is in said.txt.
enter() {
    local most=$1 began=$SECONDS code
    shift
    bounded 200 ./tare run --only sys.getppid --in native --enter box=./box --rounds 2 --record 1.tare "$@" >"$work/said.txt" 2>&1
    code=$?
    [ $((SECONDS - began)) -le "$most" ] || broke "takes $((SECONDS - began)) s, not $most"
    return $code
}
# A launcher that does not fit: it is not measured, and the reason has these words.
is_told() {
    enter 20 && broke "it is measured"
    local words
    for words in "$@"; do says "$words"; done
}
# A call that is none has no price, and the reason has these words.
is_no_call() {
    says 'no call: '
    says "$1"
    says_not 'a call takes'
}
