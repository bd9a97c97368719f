package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/signal"
	"syscall"

	"guildhall.dev/workshop/internal/gate"
	"guildhall.dev/workshop/internal/prepare"
)

// exitStatus of each outcome of `prepare` and `gate`.
var exitStatus = map[string]int{
	gate.Passed: 0, gate.NotEnforced: 3, gate.GatewayUnreachable: 4, prepare.WorkspaceFailed: 5, prepare.SourceTooLarge: 6,
	prepare.Internal: 1,
}

// prepareCommand is the init container.
func prepareCommand(arguments []string) int {
	var plan prepare.Plan
	flags := flag.NewFlagSet("prepare", flag.ContinueOnError)
	flags.StringVar(&plan.Bin, "bin", "", "directory to put this binary in")
	flags.StringVar(&plan.Workspace, "workspace", "/workspace", "directory of the workspace")
	flags.StringVar(&plan.Baseline, "baseline", "", "directory to write the baseline to")
	flags.IntVar(&plan.StripComponents, "strip-components", 0, "leading path components of archive entries to leave out")
	flags.Func("archive", "archive to unpack into the workspace (may be repeated)", func(name string) error {
		plan.Archives = append(plan.Archives, name)
		return nil
	})
	flags.BoolVar(&plan.Resume, "resume", false, "leave a workspace whose baseline was taken before as it is")
	flags.BoolVar(&plan.NotEmpty, "not-empty", false, "the workspace is a clone: refuse one without a file")
	report := flags.String("termination-log", "/dev/termination-log", "file to write the message to")
	noGate := flags.Bool("no-gate", false, "do not probe the network (local mode)")
	if err := flags.Parse(arguments); err != nil {
		return 2
	}
	if !*noGate {
		config, err := gate.ParseConfig(os.Getenv("GUILDHALL_GATE"))
		if err != nil {
			return tell(prepare.Message{Outcome: prepare.Internal, Message: err.Error()}, *report)
		}
		config = config.WithNode(os.Getenv("GUILDHALL_NODE_IP"))
		plan.Gate = &config
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return tell(prepare.Run(ctx, plan), *report)
}

// gateCommand runs the gate alone.
func gateCommand(arguments []string) int {
	flags := flag.NewFlagSet("gate", flag.ContinueOnError)
	report := flags.String("termination-log", "", "file to write the message to")
	if err := flags.Parse(arguments); err != nil {
		return 2
	}
	config, err := gate.ParseConfig(os.Getenv("GUILDHALL_GATE"))
	if err != nil {
		return tell(prepare.Message{Outcome: prepare.Internal, Message: err.Error()}, *report)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return tell(prepare.GateOnly(ctx, config.WithNode(os.Getenv("GUILDHALL_NODE_IP"))), *report)
}

func injectCommand(arguments []string) int {
	flags := flag.NewFlagSet("inject", flag.ContinueOnError)
	dir := flags.String("bin", "", "directory to put this binary in")
	if err := flags.Parse(arguments); err != nil {
		return 2
	}
	if *dir == "" {
		return fail(2, errors.New("inject needs --bin DIRECTORY"))
	}
	if err := prepare.Inject(*dir); err != nil {
		return fail(1, err)
	}
	return 0
}

// tell prints the message, and writes it to the termination log where there is one.
func tell(message prepare.Message, report string) int {
	encoded := message.Encode()
	os.Stdout.Write(append(encoded, '\n'))
	if report != "" {
		if err := os.WriteFile(report, encoded, 0o644); err != nil && !errors.Is(err, os.ErrPermission) && !errors.Is(err, os.ErrNotExist) {
			return fail(1, err)
		}
	}
	return exitStatus[message.Outcome]
}
