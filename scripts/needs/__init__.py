"""What `make demo` and `make test` need of a machine: what there is, how it is found, and how it is got."""
