# The life of the packages on a board, from installation to purge: commands for packaging/in-a-clean-root.sh. Each is named on a
# line "@@ NAME" before what it says, and ends with "@@status NUMBER". /debs has old.deb, new.deb (a higher number, other first
# settings), cuda.deb and foreign.deb (the plugin's package for another architecture). life.ts reads the output.
step() {
    echo "@@ $1"
    shift
    "$@" 2>&1
    echo "@@status $?"
}
as_service() { runuser -u depthwatt -- "$@"; }
config=/etc/depthwatt/config.yaml
facts() { stat -c "%n %U:%G %a" $config /etc/depthwatt/mqtt-password; md5sum $config /etc/depthwatt/mqtt-password; ls /etc/depthwatt; }
left_behind() { find / -xdev \( -path /proc -o -path /dev -o -path /debs -o -path /tmp \) -prune -o -name "*depthwatt*" -print; }
purge() { dpkg --purge depthwatt-cuda-jetpack6 depthwatt >/dev/null 2>&1; }

step machine sh -c 'uname -m; cat /etc/debian_version; dpkg -l | grep -c ^ii'
step install dpkg -i /debs/old.deb
step installed facts
step user sh -c 'id depthwatt; getent passwd depthwatt'
step version depthwatt --version
step scene depthwatt scene --frames 1 --width 320 --height 180 --out /tmp/scene
step match depthwatt match /tmp/scene/left/*0.png /tmp/scene/right/*0.png --json
step run as_service depthwatt run --source synthetic --broker none --frames 3 --json
step units sh -c 'ls /lib/systemd/system/depthwatt* /lib/udev/rules.d/*depthwatt*; grep -h ^ExecStart= /lib/systemd/system/depthwatt*'
step pages sh -c 'ls /usr/share/man/man1 | grep -c depthwatt; zcat /usr/share/man/man1/depthwatt-run.1.gz | head -5'

echo "the board's password" > /etc/depthwatt/mqtt-password
echo "match: {numDisparities: 96}" >> $config
step changed facts
step upgrade dpkg -i --force-confold /debs/new.deb
step upgraded facts
step upgraded-run as_service depthwatt run --config $config --broker none --frames 2 --json

step earlier-again dpkg -i --force-confold /debs/old.deb

# A settings file from before: a key that this version does not know.
echo "oldStyle: {matcher: bm}" >> $config
step old-settings dpkg -i --force-confold /debs/new.deb
step old-settings-state dpkg-query -W -f '${Status} ${Version}\n' depthwatt
step old-settings-told depthwatt config --config $config
sed -i /oldStyle/d $config
step old-settings-mended depthwatt config --config $config

step remove dpkg -r depthwatt
step removed sh -c 'ls /etc/depthwatt; ls -d /usr/lib/depthwatt /usr/bin/depthwatt /lib/systemd/system/depthwatt*'
step purge dpkg -P depthwatt
step purged left_behind

# A disk that fills while the package is unpacked, at first and at an upgrade.
mkdir -p /usr/lib/depthwatt
mount -t tmpfs -o size=40m none /usr/lib/depthwatt
step full-install dpkg -i /debs/old.deb
step full-install-state dpkg-query -W -f '${Status}\n' depthwatt
mount -o remount,size=300m /usr/lib/depthwatt
step full-install-again dpkg -i /debs/old.deb
step full-install-version depthwatt --version
mount -o remount,size=$(($(du -sm /usr/lib/depthwatt | cut -f1) + 20))m /usr/lib/depthwatt
step full-upgrade dpkg -i /debs/new.deb
step full-upgrade-state dpkg-query -W -f '${Version}\n' depthwatt
step full-upgrade-run as_service depthwatt run --source synthetic --broker none --frames 1 --json
mount -o remount,size=600m /usr/lib/depthwatt
step full-upgrade-again dpkg -i /debs/new.deb
step full-upgrade-done dpkg-query -W -f '${Version}\n' depthwatt
purge
umount /usr/lib/depthwatt

# The plugin is the second package, for this version of the first.
step cuda-alone dpkg -i /debs/cuda.deb
purge
dpkg -i /debs/old.deb >/dev/null 2>&1
step cuda-before depthwatt doctor --json
step cuda dpkg -i /debs/cuda.deb
step cuda-doctor depthwatt doctor --json
step cuda-forced depthwatt run --source synthetic --broker none --backend cuda --frames 1
# dpkg alone takes it; apt does not, and says why.
dpkg -i /debs/new.deb >/dev/null 2>&1
step cuda-other-version apt-get check
step cuda-remove dpkg -r depthwatt-cuda-jetpack6
step cuda-removed depthwatt run --source synthetic --broker none --frames 1 --json

# One for another architecture, as a package and copied into place by hand.
purge
dpkg -i /debs/old.deb >/dev/null 2>&1
plugin=usr/lib/depthwatt/build/Release/libdepthwatt_cuda.so
step foreign dpkg -i /debs/foreign.deb
step foreign-state dpkg-query -W -f '${Status} ${Version}\n' depthwatt
dpkg-deb -x /debs/foreign.deb /tmp/foreign && cp /tmp/foreign/$plugin /$plugin
step foreign-doctor depthwatt doctor --json
step foreign-forced depthwatt run --source synthetic --broker none --backend cuda --frames 1
step foreign-run depthwatt run --source synthetic --broker none --frames 1 --json
step foreign-mended dpkg -i /debs/cuda.deb
step foreign-mended-doctor depthwatt doctor --json
step foreign-purge dpkg --purge depthwatt-cuda-jetpack6 depthwatt
step foreign-purged left_behind
