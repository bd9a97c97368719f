package command

import (
	"context"
	"os"
	"path"
	"sync"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
	"guildhall.dev/workshop/internal/tree"
)

// Runner starts the commands of one Run and knows those that live.
type Runner struct {
	root    *tree.Root
	fixed   map[string]string
	self    string
	confine []string // arguments of the confine subcommand, nil to run unconfined

	mutex sync.Mutex
	jobs  map[int64]*job // by request id
	feeds map[int64]*feed
	board board
}

// Settings are what a Runner is made of. Self is the path of this binary; Writable the directories commands may write to.
type Settings struct {
	Root        *tree.Root
	Environment map[string]string
	Self        string
	Writable    []string
	Unconfined  bool
}

// NewRunner makes a Runner.
func NewRunner(settings Settings) *Runner {
	runner := &Runner{
		root: settings.Root, fixed: settings.Environment, self: settings.Self,
		jobs: map[int64]*job{}, feeds: map[int64]*feed{},
	}
	if !settings.Unconfined {
		runner.confine = []string{settings.Self, "confine"}
		for _, dir := range settings.Writable {
			runner.confine = append(runner.confine, "--write", dir)
		}
		runner.confine = append(runner.confine, "--")
	}
	return runner
}

// Shell is the shell commands run in, "" when the image has none.
func (r *Runner) Shell() string { return FindShell(r.fixed["PATH"]) }

// Emit sends a live piece of output.
type Emit func(data []byte, skipped int64)

// Started is a command under way; Finish must be called once.
type Started struct {
	runner  *Runner
	request *frame.Exec
	job     *job
	place   *declared // on the board, nil for a foreground command
}

// Start begins a command. When it returns, the command can be given input and signals.
func (r *Runner) Start(request *frame.Exec) (*Started, error) {
	var place *declared
	if request.Background {
		if place = r.board.reserve(request); place == nil {
			return nil, frame.Faultf(frame.Busy, "%d background commands run already; stop one first", limit.BackgroundMaxCount)
		}
	}
	j, err := r.launch(request)
	if err != nil {
		if place != nil {
			r.board.drop(place, 0)
		}
		return nil, err
	}
	return &Started{r, request, j, place}, nil
}

func (r *Runner) launch(request *frame.Exec) (*job, error) {
	plan, err := r.plan(request)
	if err != nil {
		return nil, err
	}
	defer plan.folder.Close()
	j, err := start(plan)
	if err != nil {
		return nil, err
	}
	r.enter(request.ID, j)
	return j, nil
}

// Finish follows the command to its end, or lets it run on when it is a background one.
func (s *Started) Finish(ctx context.Context, emit Emit) (*frame.ExecResult, error) {
	if s.request.Background {
		return s.runner.background(s.request, s.job, s.place), nil
	}
	defer s.runner.leave(s.request.ID)
	return newCall(s.request, s.job, emit).run(ctx)
}

func (r *Runner) plan(request *frame.Exec) (launch, error) {
	shell := r.Shell()
	if shell == "" {
		return launch{}, frame.Faultf(frame.Unsupported, "the image has neither bash nor sh in its PATH")
	}
	environment, err := environ(r.fixed, request.Env)
	if err != nil {
		return launch{}, err
	}
	folder, err := r.openFolder(request.Cwd)
	if err != nil {
		return launch{}, err
	}
	argv := append([]string{r.self, "keep", "--"}, r.confine...)
	argv = append(argv, shell, "-c", request.Command)
	return launch{argv: argv, environment: environment, folder: folder, stdin: request.Stdin}, nil
}

func (r *Runner) openFolder(cwd string) (*os.File, error) {
	real, err := r.root.Resolve(cwd)
	if err != nil {
		return nil, err
	}
	fd, err := r.root.Open(real, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, frame.FromErrno(err, cwd)
	}
	return os.NewFile(uintptr(fd), path.Base(real)), nil
}

func (r *Runner) enter(id int64, j *job) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.jobs[id] = j
	if j.stdin != nil {
		r.feeds[id] = newFeed(j.stdin)
	}
}

// leave ends the job of id if it still lives, and forgets it.
func (r *Runner) leave(id int64) {
	r.mutex.Lock()
	j, feed := r.jobs[id], r.feeds[id]
	delete(r.jobs, id)
	delete(r.feeds, id)
	r.mutex.Unlock()
	if feed != nil {
		feed.close()
	}
	if j != nil {
		j.end()
	}
}

// EndAll kills every command, background ones too.
func (r *Runner) EndAll() {
	for _, one := range r.board.living() {
		one.markStopping()
	}
	r.mutex.Lock()
	var ids []int64
	for id := range r.jobs {
		ids = append(ids, id)
	}
	r.mutex.Unlock()
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() { r.leave(id) })
	}
	all.Wait()
}

func (r *Runner) job(id int64) *job {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.jobs[id]
}

var signals = map[string]unix.Signal{"TERM": unix.SIGTERM, "KILL": unix.SIGKILL, "INT": unix.SIGINT}

// Kill signals every process of a running command.
func (r *Runner) Kill(request *frame.Kill) error {
	j := r.job(request.Target)
	if j == nil {
		return frame.Faultf(frame.NotFound, "no command with request id %d is running", request.Target)
	}
	j.signal(signals[request.Signal])
	return nil
}

// Stdin gives a command input; it does not wait until the command reads it.
func (r *Runner) Stdin(request *frame.Stdin) error {
	r.mutex.Lock()
	j, feed := r.jobs[request.Target], r.feeds[request.Target]
	r.mutex.Unlock()
	switch {
	case j == nil:
		return frame.Faultf(frame.NotFound, "no command with request id %d is running", request.Target)
	case feed == nil:
		return frame.Faultf(frame.InvalidArgument, "command %d was started without stdin", request.Target)
	}
	return feed.add(request.Data, request.EOF)
}

// End kills a command with everything below it; an id that names none is no error.
func (r *Runner) End(id int64) { r.leave(id) }
