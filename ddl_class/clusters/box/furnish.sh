# furnish.sh NAME FOLDER...: what a node has of its own, made in its fresh namespaces.
# The folders lie in /tmp, and every node shall see them at the same path.
set -e
name=$1
shift
hostname "$name"
# What was unpacked and not installed; nodes are made on the head, and see what it sees.
[ "$name" != head ] || for part in ${OVER:+"$OVER"/usr/bin "$OVER"/usr/sbin "$OVER"/usr/lib/*-linux-*}; do
    under=${part#"$OVER"}
    mount -t overlay overlay -o "lowerdir=$part:$under" "$under"
done
ip link set lo up

# Memory between processes, and files of running programs. Their names hold process numbers, which
# repeat from node to node.
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /dev/shm/tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm/tmp
for folder; do
    mkdir -p "/dev/shm$folder"
    mount --rbind "$folder" "/dev/shm$folder"
done
mount --rbind /dev/shm/tmp /tmp
umount -l /dev/shm/tmp
rmdir /dev/shm/tmp

mount --bind "$HOSTS" /etc/hosts
# MPI starts its helpers by a line of the shell, without quotation marks: blanks must not be in it.
mkdir /run/python
mount --bind "$PYTHON_FOLDER" /run/python

cd /proc/sys/net
exec 3>&2 2>/dev/null                        # an ordinary user may not change all of these
echo 1 > ipv6/conf/all/disable_ipv6 || :     # whose greetings would be counted as traffic
echo cubic > ipv4/tcp_congestion_control || echo reno > ipv4/tcp_congestion_control || :
echo 0 > ipv4/tcp_slow_start_after_idle || :
exec 2>&3 3>&-
cd /

[ "$name" != head ] || exit 0
# A node's process 1: it collects those whose parents have died, and never ends by itself.
echo ready
exec <&- >&- 2>&-
while :; do sleep 100000 & wait; done
