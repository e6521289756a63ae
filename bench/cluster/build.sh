# Brings what a Kubernetes consists of into the folder $cache, once: Debian's etcd, containerd, runc and CNI plugins, unpacked and
# not installed, and through the Go module proxy Kubernetes and gVisor's shim, which no package of Debian's brings. Read by
# bench/kubernetes.

kubernetes=v1.34.2
debian=(etcd-server containerd runc containernetworking-plugins)
gvisor=$(sed -n 's/^runsc_module=.*@//p' test)

# Sets $cache, with programs in its folder bin.
bring_cluster() {
    cache=$1/kubernetes-$kubernetes
    mkdir -p "$cache/bin"
    once debian unpack_debian
    once kubernetes build_kubernetes
    once "shim-$gvisor" build_shim
    once pause make_pause
    command -v runsc >/dev/null || [ -x "$cache/bin/runsc" ] ||
        CGO_ENABLED=0 GOBIN=$cache/bin go install -ldflags='-s -w' "gvisor.dev/gvisor/runsc@$gvisor"
}

# Does what no call before has done to its end.
once() {
    [ -e "$cache/done-$1" ] && return
    echo "== making $1, once" >&2
    "$2"
    touch "$cache/done-$1"
}

unpack_debian() {
    local folder=$cache/packages package
    mkdir -p "$folder"
    # Downloads into a folder that nobody else can read warn of it.
    (cd "$folder" && { apt-get download -qq "${debian[@]}" 2>/dev/null || { apt-get update -qq && apt-get download -qq "${debian[@]}"; }; })
    for package in "$folder"/*.deb; do
        dpkg-deb -x "$package" "$cache/debian"
    done
    find "$cache/debian/usr/bin" "$cache/debian/usr/sbin" -type f -exec ln -sf -t "$cache/bin" {} +
}

# The module itself names every version but its own and its parts', which lie beside it in the repository.
build_kubernetes() {
    local source=$cache/source mod
    mkdir -p "$source"
    mod=$(cd "$source" && go mod download -json "k8s.io/kubernetes@$kubernetes" | jq -r .GoMod)
    {
        echo "module cluster"
        echo "go $(sed -n 's/^go //p' "$mod")"
        echo "require k8s.io/kubernetes $kubernetes"
        sed -n "s#^\t\(k8s.io/[a-z-]*\) => ./staging/.*#replace \1 => \1 v0${kubernetes#v1}#p" "$mod"
    } >"$source/go.mod"
    local names=(kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl) version=k8s.io/component-base/version
    local flags="-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=34"
    (cd "$source" && CGO_ENABLED=0 go build -mod=mod -ldflags="$flags" -o "$cache/bin/" \
        "${names[@]/#/k8s.io/kubernetes/cmd/}")
}

# It asks the kernel to spare it when memory runs out, and starts nothing where that takes a right that root lacks, as in many
# containers. This one does not ask.
build_shim() {
    local source=$cache/shim
    mkdir -p "$source"
    cat >"$source/main.go" <<END
package main

import "gvisor.dev/gvisor/shim/v1/cli"

func main() { cli.Main() }
END
    (
        cd "$source"
        rm -f go.mod go.sum
        go mod init shim
        go get "gvisor.dev/gvisor/shim/v1/cli@$gvisor"
        go mod vendor
        sed -i 's/\(SetOOMScore(cmd.Process.Pid, \)[a-zA-Z]*)/\10)/' vendor/gvisor.dev/gvisor/pkg/shim/v1/manager.go
        CGO_ENABLED=0 go build -mod=vendor -ldflags='-s -w' -o "$cache/bin/runsc-shim" .
    )
    # Debian's containerd is older than the form in which the shim says where it listens: it takes the bare address.
    cat >"$cache/bin/containerd-shim-runsc-v1" <<'END'
#!/bin/sh
case "$*" in
*start) "${0%/*}/runsc-shim" "$@" | sed 's/.*"address":"\([^"]*\)".*/\1/' ;;
*) exec "${0%/*}/runsc-shim" "$@" ;;
esac
END
    chmod +x "$cache/bin/containerd-shim-runsc-v1"
}

# What keeps the namespaces of a pod: an image with one program, which waits.
make_pause() {
    local folder=$cache/pause sum
    mkdir -p "$folder"
    cat >"$folder/main.go" <<END
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
}
END
    (
        cd "$folder"
        CGO_ENABLED=0 go build -ldflags='-s -w' -o pause main.go
        tar -cf layer.tar pause
        sum=$(sha256sum <layer.tar)
        printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":["/pause"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
            "$(go env GOARCH)" "${sum%% *}" >config.json
        echo '[{"Config":"config.json","RepoTags":["localhost/pause:1"],"Layers":["layer.tar"]}]' >manifest.json
        tar -cf "$cache/pause.tar" manifest.json config.json layer.tar
    )
}
