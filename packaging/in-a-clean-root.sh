#!/bin/bash
# Runs commands of its standard input as root in a copy of a Debian root folder, with the packages at /debs. The copy is in memory
# and is gone afterwards. A foreign architecture runs by qemu-user, registered in a separate user namespace (Linux 6.7 or newer):
# the machine's own list of formats does not change.
#   sudo packaging/in-a-clean-root.sh ROOT PACKAGES < commands
set -e
root=$(realpath "$1") packages=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkfifo "$work/ready" "$work/go"
mkdir "$work/memory"
exec 3<&0
# shellcheck disable=SC2016
unshare --user sh -c 'echo > "$0/ready"; read -r x < "$0/go"; exec unshare --mount --pid --fork --kill-child sh -c "$@"' "$work" '
set -e
memory=$2; inside=$memory/root
mount -t tmpfs none $memory
mkdir $inside $memory/formats
cp -a $1/. $inside/
if [ -e $inside/lib/ld-linux-aarch64.so.1 ] && [ "$(uname -m)" != aarch64 ]; then
    mount -t binfmt_misc none $memory/formats
    printf ":qemu-aarch64:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:/usr/bin/qemu-aarch64-static:F" > $memory/formats/register
fi
mkdir -p $inside/proc $inside/dev
mount -t proc none $inside/proc
mount -t tmpfs none $inside/dev
mkdir $inside/dev/shm $inside/debs
for name in null zero full random urandom tty; do
    : > $inside/dev/$name
    mount --bind /dev/$name $inside/dev/$name
done
ln -s /proc/self/fd $inside/dev/fd
mount --bind $3 $inside/debs
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive chroot $inside /bin/bash -s <&3' sh "$root" "$work/memory" "$packages" 3<&3 &
child=$!
read -r _ < "$work/ready"
echo "0 0 65536" > "/proc/$child/uid_map"
echo "0 0 65536" > "/proc/$child/gid_map"
echo > "$work/go"
wait $child
