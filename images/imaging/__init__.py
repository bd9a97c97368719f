"""Builds the project's images from its own Dockerfiles, with or without a registry.

Only the standard library is used. Everything that needs the network (wheels, Debian packages,
Go modules) is fetched before the image build, which then runs offline.
"""
