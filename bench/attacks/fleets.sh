# Read by the attacks on fleets: engines that start a job by a shell, and small fleets on them.
. "$(dirname "$0")/common.sh"

# Writes an engine: FILE, and its job's script from standard input.
write_engine() {
    printf 'about = "attack"\nsubmit = ["sh", "-s"]\nscript = """\n%s\n"""\n' "$(cat)" >"$1"
}
small=(--in native --only sys.getppid --rounds 2)
# Plans a fleet without running it: ENGINE FOLDER WORDS...
plan_fleet() {
    local engine=$1 folder=$2
    shift 2
    honest fleet run quick --on "$engine" --nodes n1 "${small[@]}" --plan-only --into "$folder" "$@"
}
# Measures an honest fleet of one session.
honest_fleet() {
    write_engine honest.toml <<<'{command}'
    honest fleet run quick --on honest.toml --nodes n1 "${small[@]}" --into honest
    grep -q 'n1/1 measured' honest.txt || broke "the honest form: a session is not measured: $(tail -1 honest.txt)"
}
