package command

import (
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/frame"
)

// job is one command's processes: the keeper and all below it.
type job struct {
	keeper  *exec.Cmd
	control *os.File      // closing it ends the keeper
	out     *os.File      // read end of stdout and stderr
	stdin   *os.File      // write end, nil when the command has none
	exists  chan struct{} // closed when there is a process to signal
	status  chan unix.WaitStatus
	ended   chan struct{} // closed when the keeper is gone
	closing sync.Once
}

// launch says what to start.
type launch struct {
	argv        []string // the keeper's, from argv[0] on
	environment []string
	folder      *os.File
	stdin       bool
}

// start runs the keeper. The caller closes folder.
func start(plan launch) (*job, error) {
	pipes, err := makePipes(plan.stdin)
	if err != nil {
		return nil, frame.FromErrno(err, "pipe")
	}
	j := &job{exists: make(chan struct{}), status: make(chan unix.WaitStatus, 1), ended: make(chan struct{})}
	j.keeper = &exec.Cmd{
		Path: plan.argv[0], Args: plan.argv, Env: plan.environment,
		Stdin: pipes.stdinRead, Stdout: pipes.outWrite, Stderr: pipes.outWrite,
		ExtraFiles:  []*os.File{pipes.statusWrite, pipes.controlRead, plan.folder},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := keepers.start(j.keeper); err != nil {
		pipes.closeAll()
		return nil, frame.FromErrno(err, "the command could not be started")
	}
	pipes.closeTheirs()
	j.control, j.out, j.stdin = pipes.controlWrite, pipes.outRead, pipes.stdinWrite
	go j.readStatus(pipes.statusRead)
	go j.wait()
	<-j.exists
	return j, nil
}

// readStatus passes the keeper's reports on; a keeper that died without a status counts as killed.
func (j *job) readStatus(source *os.File) {
	defer source.Close()
	var word [4]byte
	io.ReadFull(source, word[:1])
	close(j.exists)
	status := unix.WaitStatus(unix.SIGKILL)
	if _, err := io.ReadFull(source, word[:]); err == nil {
		status = unix.WaitStatus(binary.BigEndian.Uint32(word[:]))
	}
	j.status <- status
}

func (j *job) wait() {
	j.keeper.Wait()
	keepers.forget(j.keeper.Process.Pid)
	close(j.ended)
}

// processes lists what lives below the keeper.
func (j *job) processes() []process { return below(table(), j.keeper.Process.Pid) }

func (j *job) signal(signal unix.Signal) { signalAll(j.processes(), signal) }

// end kills what is left and the keeper, and gives how many processes it met.
func (j *job) end() int {
	killed := 0
	j.closing.Do(func() {
		select {
		case <-j.ended:
		default:
			killed = killBelow(j.keeper.Process.Pid)
		}
		j.control.Close()
		j.keeper.Process.Kill()
		<-j.ended
		if j.stdin != nil {
			j.stdin.Close()
		}
	})
	return killed
}

type pipes struct {
	stdinRead, stdinWrite, outRead, outWrite, statusRead, statusWrite, controlRead, controlWrite *os.File
}

func makePipes(withStdin bool) (*pipes, error) {
	p := &pipes{}
	var err error
	pair := func(read, write **os.File) {
		if err == nil {
			*read, *write, err = os.Pipe()
		}
	}
	if withStdin {
		pair(&p.stdinRead, &p.stdinWrite)
	} else {
		p.stdinRead, err = os.Open(os.DevNull)
	}
	pair(&p.outRead, &p.outWrite)
	pair(&p.statusRead, &p.statusWrite)
	pair(&p.controlRead, &p.controlWrite)
	if err != nil {
		p.closeAll()
		return nil, err
	}
	return p, nil
}

func (p *pipes) closeTheirs() {
	for _, file := range []*os.File{p.stdinRead, p.outWrite, p.statusWrite, p.controlRead} {
		file.Close()
	}
}

func (p *pipes) closeAll() {
	p.closeTheirs()
	for _, file := range []*os.File{p.stdinWrite, p.outRead, p.statusRead, p.controlWrite} {
		file.Close()
	}
}
