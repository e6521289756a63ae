# What bench/kubernetes does in namespaces of its own: starts the cluster, and has tare measure in it.
set -euo pipefail
. bench/cluster/control.sh
# Who measures: as in the pods, nobody's user. The folder of all fleets is what the claim holds.
user=65532 fleets=$work/fleets wrong=0 namespace=tare probes=sys.getppid,proc.spawn,ipc.pipe,mem.fault,file.meta
mkdir "$fleets" "$work/disk" "$work/memory" "$work/state"
mount -t tmpfs tmpfs "$work/memory"
chown "$user:$user" "$fleets" "$work/disk" "$work/memory" "$work/state" "$HOME"

# tare, after other words that start it.
as_user() {
    (cd "$fleets" && exec setpriv --reuid "$user" --regid "$user" --clear-groups env PATH="$work/programs:$PATH" \
        XDG_STATE_HOME="$work/state" NO_COLOR=1 "$@")
}
tare() { as_user tare "$@"; }

# A fleet of Jobs: its folder below that of all, options of the engine, the study, and more words.
fleet_words() {
    local into=$1 options=$2
    shift 2
    words=(fleet run "$@" --on "kubernetes?namespace=$namespace&claim=fleets&path=$into&image=$image&cpu=1&memory=512Mi$options"
        --into "$fleets/$into" --in native)
}
fleet() {
    local words
    fleet_words "$@"
    tare "${words[@]}"
}

say() { printf '\n== %s\n' "$*"; }
# Says whether something is as it should be: what it is, then a command.
check() {
    local what=$1
    shift
    if "$@"; then echo "right: $what"; else echo "WRONG: $what" && wrong=1; fi
}
is() { [ "$1" = "$2" ] || { echo "  '$1', and not '$2'" && return 1; }; }

every_session_ran_on_its_node() {
    local record
    for record in "$fleets/$1"/cells/*/*.tare; do
        is "$(tare report "$record" --json | jq -r '.facts.host["kubernetes.node"]')" "$(basename "${record%/*}")" || return
    done
}
# How many times slower a system call is in the first environment of a record.
slowdown() { tare report "$1" --json | jq '[.rows[] | select(.headline)][0].cells[0].comparison.slowdown'; }
is_so() { jq --null-input --exit-status "$1" >/dev/null; }
no_job_is_left() { [ -z "$(kubectl get jobs --namespace=tare --field-selector=status.successful=0 --output=name)" ]; }

say "starting Kubernetes with $nodes nodes"
start_cluster
echo "ready after $SECONDS s: Kubernetes $(kubectl version -o json | jq -r .serverVersion.gitVersion), $(containerd --version | cut -d ' ' -f 1,3)"
sed "s#{work}#$work#" bench/cluster/namespace.yaml | kubectl apply -f - >/dev/null
for runtime in runc gvisor; do
    sed "s#{runtime}#$runtime#; s#{image}#$image#; s#{user}#$user#" bench/cluster/pod.yaml | kubectl apply -f - >/dev/null
done

say "a fleet of Jobs: two sessions on each node"
fleet plain "" quick --only "$probes" --sessions 2 --rounds 12
check "every session ran on its node" every_session_ran_on_its_node plain
tare fleet report plain

say "the same under gVisor (RuntimeClass)"
fleet gvisor "&runtime=gvisor" quick --only "$probes" --sessions 2 --rounds 12
check "every session ran on its node" every_session_ran_on_its_node gvisor
tare fleet report gvisor --before plain

of="namespace=tare&tare=/usr/bin/tare"
kubectl wait --namespace=tare --for=condition=Ready pod/runc pod/gvisor --timeout=60s >/dev/null
say "two runtime classes as environments of one session"
tare run --against "kubernetes:runc?$of" --in "kubernetes:gvisor?$of" --only "$probes" --rounds 12 --record lanes.tare
check "a system call costs more under gVisor: $(slowdown lanes.tare) times" is_so "$(slowdown lanes.tare) > 2"
say "two classes of storage as environments of one session"
tare run --against "kubernetes:runc?$of&folder=/disk" --in "kubernetes:runc?$of&folder=/memory" --only file.sync,file.meta --rounds 12 \
    --record storage.tare
check "memory is synchronised faster than a disk" is_so "$(slowdown storage.tare) < 0.5"

say "a run that is interrupted"
fleet_words stopped "" quick --only "$probes" --sessions 1 --rounds 10000
code=0
as_user timeout --foreground --signal=INT --preserve-status 15 tare "${words[@]}" || code=$?
check "it ends with 130" is "$code" 130
check "no Job is left" within 30 no_job_is_left

if [ "$nodes" -gt 1 ]; then
    say "a Job that nobody can start, and a node that dies"
    fleet refused "&runtime=nowhere" quick --only sys.getppid --nodes n1 --sessions 1 --rounds 6 --limit 60s >"$work/refused" 2>&1 &
    refused=$!
    fleet died "" quick --only "$probes" --nodes n2,n3 --sessions 1 --rounds 100 --limit 60s &
    died=$!
    within 60 test -s "$fleets/died/cells/n2/1.part"
    power_off 2
    code=0
    wait "$refused" || code=$?
    cat "$work/refused"
    check "what cannot start ends with 3, and its reason" grep -q nowhere "$fleets/refused/cells/n1/1.why"
    code=0
    wait "$died" || code=$?
    check "the fleet ends with 3" is "$code" 3
    check "the node is a gap with its reason" grep -q 'deadline' "$fleets/died/cells/n2/1.why"
    start_node 2
    within 120 all_are_ready
    check "back again, it is measured alone" tare fleet run died
fi
exit $wrong
