"""The demo: chooses a cluster, installs the chart, runs the real job, proves the patch, leaves it all running."""
