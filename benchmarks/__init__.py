"""Measurements that hold promises of the README: `make bench`. Ratios within one run, so that any machine will do."""
