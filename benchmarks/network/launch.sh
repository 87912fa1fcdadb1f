#!/usr/bin/env bash
# mpiexec's launcher: HOST COMMAND... runs in the host's namespace, under a host name of its own.
while [[ "$1" == -* ]]; do shift; done
host=$1
shift
exec ip netns exec "$SYNCOLL_NETWORK-$host" unshare --uts bash -c "hostname $host; $*"
