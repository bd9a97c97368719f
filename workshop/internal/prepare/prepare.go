package prepare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/baseline"
	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/gate"
	"guildhall.dev/workshop/internal/tree"
	"guildhall.dev/workshop/internal/unpack"
)

// Plan is what `prepare` is told. Empty Bin or Baseline leave that step out; a nil Gate does too. With Resume, a
// workspace whose baseline is whole is left as an earlier attempt left it. With NotEmpty, one without a file is refused:
// a storage driver that cannot clone gives an empty volume and says nothing.
type Plan struct {
	Bin             string
	Workspace       string
	Baseline        string
	Archives        []string
	StripComponents int
	Resume          bool
	NotEmpty        bool
	Gate            *gate.Config
}

// Run does the steps. The gate probes while the workspace is filled and recorded, since no byte of it is executed here
// and nothing starts before this ends; the gate's verdict comes first.
func Run(ctx context.Context, plan Plan) Message {
	began := time.Now()
	verdicts := make(chan gate.Verdict, 1)
	go func() {
		if plan.Gate == nil {
			verdicts <- gate.Verdict{Outcome: gate.Passed}
			return
		}
		verdicts <- gate.Run(ctx, *plan.Gate)
	}()
	message := fill(plan)
	verdict := <-verdicts
	message.Targets = verdict.Targets
	if verdict.Outcome != gate.Passed {
		message.Outcome, message.Message = verdict.Outcome, verdict.Message
	} else if verdict.Message != "" {
		message.Message = join(verdict.Message, message.Message)
	}
	message.ElapsedMilliseconds = time.Since(began).Milliseconds()
	return message
}

func join(first, second string) string {
	if second == "" {
		return first
	}
	return first + "; " + second
}

// fill is everything but the gate.
func fill(plan Plan) Message {
	if plan.Bin != "" {
		if err := Inject(plan.Bin); err != nil {
			return Message{Outcome: Internal, Message: err.Error()}
		}
	}
	found, note, err := workspace(plan)
	if errors.Is(err, unpack.ErrTooLarge) {
		return Message{Outcome: SourceTooLarge, Message: textOf(err)}
	}
	if err != nil {
		return Message{Outcome: WorkspaceFailed, Message: textOf(err)}
	}
	return Message{Outcome: gate.Passed, Message: note, Workspace: found}
}

func textOf(err error) string {
	var fault *frame.Fault
	if errors.As(err, &fault) {
		return fault.Message
	}
	return err.Error()
}

func workspace(plan Plan) (*Workspace, string, error) {
	root, err := tree.OpenRoot(plan.Workspace)
	if err != nil {
		return nil, "", fmt.Errorf("the workspace cannot be opened: %w", err)
	}
	defer root.Close()
	if err := writable(plan.Workspace); err != nil {
		return nil, "", err
	}
	if plan.Resume {
		if found, err := baseline.Taken(plan.Baseline); err == nil {
			return evidenceOf(found), "goes on in the workspace of an earlier attempt", nil
		}
	}
	for _, archive := range plan.Archives {
		if err := unpack.File(root, archive, plan.StripComponents); err != nil {
			return nil, "", err
		}
	}
	if err := withoutReserved(root); err != nil {
		return nil, "", err
	}
	note := excludeReserved(root)
	if plan.Baseline == "" {
		return nil, note, nil
	}
	found, err := baseline.Take(root, plan.Baseline)
	if err != nil {
		return nil, "", fmt.Errorf("the baseline could not be taken: %w", err)
	}
	evidence := evidenceOf(found)
	if plan.NotEmpty && evidence.Files == 0 {
		return nil, "", errors.New("the workspace is empty: its storage class does not clone volumes, or the template holds no file; " +
			"choose a class whose driver clones (workspace.storage.class), or use workspace.claim")
	}
	return evidence, note, nil
}

// writable fails early and clearly where the volume belongs to somebody else.
func writable(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("the workspace is not writable by uid %d (%w); use a volume that supports fsGroup", unix.Getuid(), err)
	}
	return nil
}

func withoutReserved(root *tree.Root) error {
	fd, err := root.Open(tree.Reserved, unix.O_PATH)
	if err == unix.ENOENT {
		return nil
	}
	if err == nil {
		unix.Close(fd)
	}
	return fmt.Errorf("the source holds a top-level %s, a name that is reserved; remove it from the source", tree.Reserved)
}

// GateOnly runs the gate and nothing else.
func GateOnly(ctx context.Context, config gate.Config) Message {
	began := time.Now()
	verdict := gate.Run(ctx, config)
	return Message{
		Outcome: verdict.Outcome, Message: verdict.Message, Targets: verdict.Targets,
		ElapsedMilliseconds: time.Since(began).Milliseconds(),
	}
}
