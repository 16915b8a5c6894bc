"""The cluster in a box: nodes with names, addresses and shaped links, out of Linux namespaces."""
