package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"

	"guildhall.dev/workshop/internal/command"
	"guildhall.dev/workshop/internal/confine"
	"guildhall.dev/workshop/internal/limit"
	"guildhall.dev/workshop/internal/serve"
)

// serveCommand is PID 1 of the workshop container.
func serveCommand(arguments []string) int {
	config, err := serveConfig(arguments)
	if err != nil {
		return fail(2, err)
	}
	debug.SetMemoryLimit(128 * limit.MiB)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	server, err := serve.New(config)
	if err != nil {
		return fail(1, err)
	}
	if err := server.Run(ctx); err != nil {
		return fail(1, err)
	}
	return 0
}

func serveConfig(arguments []string) (serve.Config, error) {
	var config serve.Config
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.StringVar(&config.Socket, "socket", "/guildhall/socket/workshop.sock", "path of the Unix socket to listen on")
	flags.StringVar(&config.Workspace, "workspace", "/workspace", "directory of the workspace")
	flags.StringVar(&config.Baseline, "baseline", "", "directory of the baseline that prepare wrote")
	flags.StringVar(&config.Tmp, "tmp", "/tmp", "directory for temporary files of commands")
	flags.StringVar(&config.Home, "home", "", "home directory of commands (default: home below --tmp)")
	flags.BoolVar(&config.Unconfined, "unconfined", false, "run commands without Landlock and seccomp")
	peer := flags.Uint("peer-uid", 10001, "the only uid that may connect")
	mode := flags.String("socket-mode", "0660", "mode of the socket, octal")
	if err := flags.Parse(arguments); err != nil {
		return config, err
	}
	bits, err := strconv.ParseUint(*mode, 8, 9)
	if err != nil {
		return config, fmt.Errorf("--socket-mode %q is not an octal mode", *mode)
	}
	config.SocketMode, config.PeerUID = os.FileMode(bits), uint32(*peer)
	if config.Home == "" {
		config.Home = filepath.Join(config.Tmp, "home")
	}
	config.Environment, err = runEnvironment(os.Getenv("GUILDHALL_RUN_ENV"))
	return config, err
}

// runEnvironment decodes the Run's own variables, a JSON object of strings.
func runEnvironment(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	var env map[string]string
	if err := json.Unmarshal([]byte(text), &env); err != nil {
		return nil, errors.New("GUILDHALL_RUN_ENV is not a JSON object of strings")
	}
	if err := command.CheckEnvironment(env); err != nil {
		return nil, fmt.Errorf("GUILDHALL_RUN_ENV: %w", err)
	}
	return env, nil
}

// keepCommand is internal: the process between the server and one command.
func keepCommand(arguments []string) int {
	if len(arguments) < 2 || arguments[0] != "--" {
		return fail(2, errors.New("keep is started by serve only"))
	}
	if err := command.Keep(arguments[1:]); err != nil {
		return fail(126, err)
	}
	return 0
}

// confineCommand is internal: it confines itself and becomes the command.
func confineCommand(arguments []string) int {
	var writable []string
	flags := flag.NewFlagSet("confine", flag.ContinueOnError)
	flags.Func("write", "directory the command may write to", func(dir string) error {
		writable = append(writable, dir)
		return nil
	})
	if err := flags.Parse(arguments); err != nil || flags.NArg() == 0 {
		return fail(2, errors.New("confine is started by serve only"))
	}
	err := confine.Become(writable, flags.Args(), os.Environ())
	return fail(126, fmt.Errorf("the command could not be confined and was not run: %w", err))
}
