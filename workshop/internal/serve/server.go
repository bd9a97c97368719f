// Package serve guards the server's door: one peer of the right uid at a time, bounded requests, whatever it sends.
package serve

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"guildhall.dev/workshop/internal/baseline"
	"guildhall.dev/workshop/internal/command"
	"guildhall.dev/workshop/internal/files"
	"guildhall.dev/workshop/internal/tree"
)

// Config is what `serve` is told. PeerUID is the only uid that may connect.
type Config struct {
	Socket      string
	SocketMode  os.FileMode
	Workspace   string
	Baseline    string // directory, "" for none: diff is then unsupported
	PeerUID     uint32
	Tmp         string
	Home        string
	Environment map[string]string
	Unconfined  bool
}

// Server answers the executor.
type Server struct {
	config   Config
	root     *tree.Root
	files    *files.Files
	runner   *command.Runner
	baseline *baseline.Baseline

	complaints int // touched by accept only
}

// New opens the workspace and the baseline; it starts nothing.
func New(config Config) (*Server, error) {
	root, err := tree.OpenRoot(config.Workspace)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(config.Home, 0o700); err != nil {
		return nil, err
	}
	server := &Server{config: config, root: root, files: files.New(root)}
	if config.Baseline != "" {
		if server.baseline, err = baseline.Open(config.Baseline); err != nil {
			return nil, err
		}
	}
	places := command.Places{Workspace: config.Workspace, Tmp: config.Tmp, Home: config.Home}
	server.runner = command.NewRunner(command.Settings{
		Root: root, Self: self, Unconfined: config.Unconfined,
		Environment: command.FixedEnvironment(os.Environ(), places, config.Environment),
		Writable:    []string{config.Workspace, config.Tmp, config.Home},
	})
	return server, nil
}

// Run listens until ctx ends, then kills every command.
func (s *Server) Run(ctx context.Context) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl: %w", err)
	}
	if err := command.Adopt(); err != nil {
		return fmt.Errorf("prctl: %w", err)
	}
	warmUp()
	listener, err := listen(s.config.Socket, s.config.SocketMode)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	defer s.runner.EndAll()
	return s.accept(ctx, listener)
}

// accept serves one connection after another until ctx ends. An error of accept itself (no descriptors left) passes.
func (s *Server) accept(ctx context.Context, listener *net.UnixListener) error {
	serving, waiting := make(chan struct{}, 1), make(chan struct{}, 1)
	for {
		conn, err := listener.AcceptUnix()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			s.complain("accept: %v", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if uid, err := peerUID(conn); err != nil || uid != s.config.PeerUID {
			s.complain("refused a connection of uid %d", uid)
			conn.Close()
			continue
		}
		select {
		case waiting <- struct{}{}:
			go func() {
				defer conn.Close()
				if enter(serving, waiting) {
					newSession(s, conn).run(ctx)
					<-serving
				}
			}()
		default:
			s.complain("refused a connection while another waits")
			conn.Close()
		}
	}
}

// handoverTime is how long a new connection waits for the end of the one before, whose commands may still be dying.
const handoverTime = 3 * time.Second

// enter waits for the one place of a session; it leaves the one waiting place in any case.
func enter(serving chan<- struct{}, waiting <-chan struct{}) bool {
	defer func() { <-waiting }()
	timer := time.NewTimer(handoverTime)
	defer timer.Stop()
	select {
	case serving <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}

const complaintsMaxCount = 100

// complain writes to the container's log, which commands can reach by connecting in a loop: only the first are told.
func (s *Server) complain(format string, args ...any) {
	if s.complaints++; s.complaints <= complaintsMaxCount {
		fmt.Fprintf(os.Stderr, "workshop: "+format+"\n", args...)
	}
}

// listen makes the socket under a spare name and renames it into place: a peer never meets one that does not answer.
func listen(path string, mode os.FileMode) (*net.UnixListener, error) {
	spare := filepath.Join(filepath.Dir(path), fmt.Sprintf(".s%d", os.Getpid()))
	os.Remove(spare)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: spare, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on the socket: %w", err)
	}
	listener.SetUnlinkOnClose(false)
	if err := os.Chmod(spare, mode); err != nil {
		return nil, err
	}
	return listener, os.Rename(spare, path)
}

func peerUID(conn *net.UnixConn) (uint32, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	var sockErr error
	err = raw.Control(func(fd uintptr) {
		peer, sockErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil {
		return 0, err
	}
	if sockErr != nil {
		return 0, sockErr
	}
	return peer.Uid, nil
}
