#!/bin/sh
# The depthwatt of this package, with the Node that comes with it.
exec /usr/lib/depthwatt/bin/node /usr/lib/depthwatt/dist/edge/cli/main.js "$@"
