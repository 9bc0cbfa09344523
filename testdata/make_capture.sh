#!/bin/sh
# Makes tcp_udp.pcap: real TCP and UDP between two network namespaces, as the receiver sees it.
#
# Needs root, iproute2, ethtool, tcpdump, iperf3 and python3. Offloads are off, so that every frame
# is one that could arrive at a NIC (at most 1514 bytes). Only incoming frames are kept.
set -eu

out=${1:-"$(dirname "$0")/tcp_udp.pcap"}
a=ppcap-a
b=ppcap-b
tmp=$(mktemp -d)
pids=

clean() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    ip netns del $a 2>/dev/null || true
    ip netns del $b 2>/dev/null || true
    rm -rf "$tmp"
}
trap clean EXIT INT TERM

ip netns add $a
ip netns add $b
ip link add eth-a netns $a type veth peer name eth-b netns $b
ip -n $a link set eth-a address 02:00:00:00:00:0a
ip -n $b link set eth-b address 02:00:00:00:00:0b
for side in a b; do
    ns=ppcap-$side
    ip netns exec $ns sysctl -qw net.ipv6.conf.eth-$side.accept_dad=0
    ip netns exec $ns ethtool -K eth-$side tx off rx off sg off tso off gso off gro off >/dev/null
    n=$([ $side = a ] && echo 1 || echo 2)
    ip -n $ns addr add 10.7.0.$n/24 dev eth-$side
    ip -n $ns addr add fd00:7::$n/64 dev eth-$side nodad
    ip -n $ns link set lo up
    ip -n $ns link set eth-$side up
done
sleep 1

ip netns exec $b tcpdump -q -i eth-b -Q in -s 0 -U -w "$tmp/in.pcap" 2>/dev/null &
pids="$pids $!"
ip netns exec $b iperf3 -s -p 5201 >/dev/null 2>&1 &
pids="$pids $!"
ip netns exec $b python3 - <<'PY' &
import socket, threading

def udp(family, address):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.bind((address, 5300))
    while True:
        data, peer = s.recvfrom(4096)
        s.sendto(data[::-1], peer)

threading.Thread(target=udp, args=(socket.AF_INET, "10.7.0.2"), daemon=True).start()
udp(socket.AF_INET6, "fd00:7::2")
PY
pids="$pids $!"
sleep 1

# ARP and neighbour discovery come with the first packets. Several TCP streams at once over IPv4, one over IPv6: bulk towards the capture.
ip netns exec $a iperf3 -c 10.7.0.2 -p 5201 -P 4 -n 80K -l 8K >/dev/null
ip netns exec $a iperf3 -c fd00:7::2 -p 5201 -n 48K -l 8K >/dev/null
# Reverse: the capture sees acknowledgements.
ip netns exec $a iperf3 -c 10.7.0.2 -p 5201 -R -n 48K -l 8K >/dev/null
# UDP requests of many sizes from several ports, each answered.
ip netns exec $a python3 - <<'PY'
import socket

for family, to in ((socket.AF_INET, "10.7.0.2"), (socket.AF_INET6, "fd00:7::2")):
    socks = [socket.socket(family, socket.SOCK_DGRAM) for _ in range(6)]
    for i in range(90):
        s = socks[i % len(socks)]
        s.settimeout(2)
        s.sendto(bytes((i + k) % 256 for k in range(1 + 13 * i % 700)), (to, 5300))
        s.recvfrom(4096)
PY
sleep 1
cp "$tmp/in.pcap" "$out"
