# Starts a Kubernetes of $nodes nodes in the namespaces of whoever calls, and gives kubectl its configuration. Read by inside.sh.

# Control groups as these namespaces see them: all in the one that was made for the cluster.
mount_cgroups() {
    local controller
    if [ -z "$cgroup_controllers" ]; then
        mount -t cgroup2 cgroup2 /sys/fs/cgroup
        mkdir /sys/fs/cgroup/cluster
        echo $$ >/sys/fs/cgroup/cluster/cgroup.procs
        # A group that hands controllers on has no processes itself.
        within 10 hand_controllers_on
        return
    fi
    mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
    for controller in $cgroup_controllers; do
        mkdir "/sys/fs/cgroup/$controller"
        mount -t cgroup -o "${controller/#systemd/none,name=systemd}" cgroup "/sys/fs/cgroup/$controller"
    done
}

hand_controllers_on() {
    sed 's/[a-z]*/+&/g' /sys/fs/cgroup/cgroup.controllers >/sys/fs/cgroup/cgroup.subtree_control
}

# A kubelet sets these for the whole machine, unless they have its values already: it gets to see files that do.
hide_kernel_parameters() {
    local line file
    for line in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
        kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
        file=/tmp/parameters/${line%=*}
        mkdir -p "${file%/*}"
        echo "${line#*=}" >"$file"
        mount --bind "$file" "/proc/sys/${line%=*}"
    done
}

start_control_plane() {
    local server=https://10.0.0.1:6443
    ip link set lo up
    ip link add hub type bridge
    ip addr add 10.0.0.1/24 dev hub
    ip link set hub up
    cat >"$KUBECONFIG" <<END
apiVersion: v1
kind: Config
clusters: [{name: own, cluster: {server: "$server", insecure-skip-tls-verify: true}}]
users: [{name: own, user: {token: own}}]
contexts: [{name: own, context: {cluster: own, user: own}}]
current-context: own
END
    echo 'own,own,own,system:masters' >/tmp/tokens
    openssl genrsa -out /tmp/accounts.key 2048 2>/dev/null
    etcd --data-dir /tmp/etcd --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
        --listen-peer-urls http://127.0.0.1:2380 >"$work/etcd.log" 2>&1 &
    kube-apiserver --etcd-servers=http://127.0.0.1:2379 --bind-address=10.0.0.1 --advertise-address=10.0.0.1 \
        --cert-dir=/tmp/certificates --token-auth-file=/tmp/tokens --authorization-mode=AlwaysAllow \
        --service-cluster-ip-range=10.96.0.0/24 --service-account-issuer="$server" \
        --service-account-key-file=/tmp/accounts.key --service-account-signing-key-file=/tmp/accounts.key \
        --kubelet-preferred-address-types=InternalIP --disable-admission-plugins=ServiceAccount >"$work/apiserver.log" 2>&1 &
    within 120 kubectl get --raw /readyz
    kube-controller-manager --kubeconfig "$KUBECONFIG" --service-account-private-key-file=/tmp/accounts.key \
        --bind-address=127.0.0.1 --leader-elect=false >"$work/controller-manager.log" 2>&1 &
    kube-scheduler --kubeconfig "$KUBECONFIG" --bind-address=127.0.0.1 --leader-elect=false >"$work/scheduler.log" 2>&1 &
}

node_pids=()
start_node() {
    local pid
    unshare --net --mount --uts bash bench/cluster/node.sh "$1" >"$work/n$1.log" 2>&1 &
    pid=$! node_pids[$1]=$!
    # Nobody waits for it, and bash says nothing when it is killed.
    disown "$pid"
    ip link add "node$1" type veth peer name eth0
    within 10 differs "$pid"
    ip link set eth0 netns "$pid"
    ip link set "node$1" master hub up
}

# Kills all of a node at once, as a power cut does: what is in its network, and pods, which have their own and are its shims' children.
power_off() {
    local own process pids=()
    own=$(readlink "/proc/${node_pids[$1]}/ns/net")
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/ns/net" 2>/dev/null)" = "$own" ] || continue
        pids+=("${process#/proc/}" $(cat "$process"/task/*/children 2>/dev/null))
    done
    kill -KILL "${pids[@]}" 2>/dev/null || true
    # Its network ends with it, and with that its end of the cable.
    within 30 gone "node$1"
}

gone() { ! ip link show "$1"; }

# Whether a process has a network of its own by now.
differs() {
    [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# Waits until a command succeeds, at most so many seconds.
within() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        if [ $SECONDS -ge $end ]; then
            echo "error: not within the time: $*" >&2
            return 1
        fi
        sleep 0.2
    done
}

all_are_ready() {
    [ "$(kubectl get nodes --no-headers | grep -cw Ready)" = "$nodes" ]
}

start_cluster() {
    local number
    # What programs read of mounts has the caller's groups no more.
    umount --recursive --lazy /sys
    mount -t sysfs sysfs /sys
    mount_cgroups
    mount -t tmpfs tmpfs /tmp
    mount -t tmpfs tmpfs /run
    hide_kernel_parameters
    start_control_plane
    for number in $(seq "$nodes"); do start_node "$number"; done
    within 120 all_are_ready
}
