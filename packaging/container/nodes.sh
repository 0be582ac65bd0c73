#!/bin/sh
# Prints what compose.yaml must know of this host: the groups of its device nodes, and the socket of Argus.
#   sh nodes.sh [ROOT] > .env        ROOT is / unless a test names another folder
root=${1:-/}

# The group of the first node that exists; nothing if there is none.
group_of() {
    for node in "$@"; do
        [ -e "$root/$node" ] || continue
        echo "$name=$(stat --dereference --format %g "$root/$node")"
        return
    done
}

name=DEPTHWATT_VIDEO_GID group_of dev/nvmap dev/video0 dev/video1
name=DEPTHWATT_RENDER_GID group_of dev/dri/renderD128 dev/dri/renderD129
if [ -e "$root/tmp/argus_socket" ]; then echo "DEPTHWATT_ARGUS_SOCKET=/tmp/argus_socket"; fi
