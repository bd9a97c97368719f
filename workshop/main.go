// Command guildhall-workshop works inside the user's image: it prepares the workspace, proves the isolation, and does
// what the executor asks on a Unix socket. One static binary, no other file needed.
package main

import (
	"fmt"
	"os"
)

// version is set by the build.
var version = "dev"

// commands by name; each takes its arguments and gives the exit status.
var commands = map[string]func(arguments []string) int{
	"prepare": prepareCommand,
	"gate":    gateCommand,
	"inject":  injectCommand,
	"serve":   serveCommand,
	"keep":    keepCommand,
	"confine": confineCommand,
	"version": versionCommand,
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: guildhall-workshop prepare | gate | inject | serve | version  [-h for each]")
		os.Exit(2)
	}
	os.Exit(commands[os.Args[1]](os.Args[2:]))
}

func versionCommand([]string) int {
	fmt.Println("guildhall-workshop", version)
	return 0
}

// fail prints err for whoever reads the container's log.
func fail(status int, err error) int {
	fmt.Fprintln(os.Stderr, "guildhall-workshop:", err)
	return status
}
