# A node: containerd and kubelet, in namespaces of network, mounts and host name that ./control.sh gave it.
# Arguments: its number. $cache, $work and $image are the caller's.
set -euo pipefail
number=$1 name=n$1 address=10.0.0.1$1 own=$work/n$1
hostname "$name"
until ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
ip link set lo up
ip addr add "$address/24" dev eth0
ip link set eth0 up
ip route add default via 10.0.0.1
for other in $(seq "$nodes"); do
    [ "$other" = "$number" ] || ip route add "10.1.$other.0/24" via "10.0.0.1$other"
done
for folder in /run /var/lib /var/log; do mount -t tmpfs tmpfs "$folder"; done
mkdir -p "$own"/{cni,volumes}
cat >"$own/cni/10-pods.conflist" <<END
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "ptp", "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.1.$number.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
cat >"$own/containerd.toml" <<END
version = 2
root = "$own/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "$cache/debian/usr/lib/cni"
  conf_dir = "$own/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runsc]
  runtime_type = "io.containerd.runsc.v1"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runsc.options]
  TypeUrl = "io.containerd.runsc.v1.options"
  ConfigPath = "$own/runsc.toml"
END
printf '[runsc_config]\nplatform = "systrap"\n' >"$own/runsc.toml"
cat >"$own/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix:///run/containerd.sock
address: $address
healthzBindAddress: 127.0.0.1
volumePluginDir: $own/volumes
resolvConf: ""
clusterDNS: [10.96.0.10]
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
localStorageCapacityIsolation: false
makeIPTablesUtilChains: false
oomScoreAdj: 0
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 10Mi}
END

containerd --config "$own/containerd.toml" >"$own/containerd.log" 2>&1 &
images=(ctr --address /run/containerd.sock --namespace k8s.io images)
until "${images[@]}" list >/dev/null 2>&1; do sleep 0.1; done
for archive in "$cache/pause.tar" "$work"/image/*.tar; do
    "${images[@]}" import "$archive" >>"$own/import.log" 2>&1
done
"${images[@]}" tag --force "${image#docker.io/library/}" "$image" >/dev/null
exec kubelet --config "$own/kubelet.yaml" --kubeconfig "$work/kubeconfig" --root-dir "$own/kubelet" --cert-dir "$own/certificates" \
    --hostname-override "$name" --node-ip "$address" >"$own/kubelet.log" 2>&1
