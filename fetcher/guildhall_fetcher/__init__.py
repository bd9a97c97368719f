"""Gets one commit of one repository into a Run's workspace, in a pod of its own, and runs nothing that is in it."""
