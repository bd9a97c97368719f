"""A one-node Kubernetes on this machine, from binaries built here and a few distribution packages.

Only the standard library is used: this runs before any virtual environment exists. Nothing here
calls sudo, and nothing here reaches the network except the Go module proxy and, if the user
agrees, the package manager.
"""
