# Read by the places beside it: the bounds and the ends of an attack, a folder on a disk with the program, and looks at what it says.
#
# A place is right where the program does its work there, or says why not and what to do, and wrong otherwise.
. "$(dirname "$0")/../attacks/common.sh"

places=$(cd "$(dirname "$0")" 2>/dev/null && pwd) || places=$repository/bench/places
folder=$(mktemp -d /var/tmp/place.XXXXXX)
undo() { rm -rf --one-file-system "$folder"; }
chmod 755 "$folder"
cp "$tare" "$folder/tare"
cd "$folder" || exit 1

# Runs a command that must end with this code. Its output is in said.txt.
ends_with() {
    local wanted=$1 code
    shift
    bounded 200 "$@" >"$work/said.txt" 2>&1
    code=$?
    [ "$code" = "$wanted" ] || broke "ends with $code, not $wanted: ${*##*/}: $(grep -m2 -e error: -e caused "$work/said.txt" | tr '\n' ' ')"
}
says() { grep -qi -e "$1" "$work/said.txt" || broke "does not say '$1': $(grep -v '^ *$' "$work/said.txt" | head -3 | tr '\n' ' ')"; }
says_not() { ! grep -i -m1 -e "$1" "$work/said.txt" >"$work/found.txt" || broke "says: $(cat "$work/found.txt")"; }

# Runs words as a user without rights, who has a home of his own.
as_user() {
    if [ "$(id -u)" = 0 ]; then
        mkdir -p "$folder/user"
        chown 65534:65534 "$folder/user"
        HOME=$folder/user XDG_STATE_HOME=$folder/user/state XDG_CACHE_HOME=$folder/user/cache XDG_CONFIG_HOME=$folder/user/config \
            setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}
