package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
)

const writeTimeout = 60 * time.Second

// session is one connection and the requests in flight on it.
type session struct {
	server *Server
	conn   *net.UnixConn

	writing sync.Mutex
	mutex   sync.Mutex
	flights map[int64]context.CancelFunc
	all     sync.WaitGroup

	changing sync.Mutex    // one change of the tree at a time, so that no edit is lost to another
	heavy    chan struct{} // requests that hold a whole file or more in memory
}

func newSession(server *Server, conn *net.UnixConn) *session {
	return &session{server: server, conn: conn, flights: map[int64]context.CancelFunc{}, heavy: make(chan struct{}, 4)}
}

// run answers requests until the peer leaves or breaks the protocol; then everything it started ends.
func (s *session) run(ctx context.Context) {
	within, stop := context.WithCancel(ctx)
	context.AfterFunc(within, func() { s.conn.Close() })
	if err := s.receive(within); !errors.Is(err, io.EOF) && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "workshop: connection closed: %v\n", err)
	}
	stop()
	s.server.runner.EndAll()
	s.all.Wait()
	s.server.runner.EndAll() // what a request started while it was being cancelled
}

// receive reads requests until there is an error, io.EOF at a proper end.
func (s *session) receive(ctx context.Context) error {
	source := bufio.NewReaderSize(s.conn, 64*limit.KiB)
	for {
		body, err := frame.ReadBody(source)
		if err != nil {
			return err
		}
		request, refusal := frame.Decode(body)
		if refusal == nil {
			s.dispatch(ctx, request)
			continue
		}
		if refusal.ID == 0 {
			return refusal
		}
		s.send(frame.Error{ID: refusal.ID, Type: "error", Code: refusal.Code, Message: refusal.Reason})
	}
}

// dispatch answers what takes no time at once, and starts everything else as a flight of its own.
func (s *session) dispatch(ctx context.Context, request frame.Request) {
	switch r := request.(type) {
	case *frame.Hello:
		s.answer(r.ID, "hello", s.server.hello(r))
	case *frame.Cancel:
		s.cancel(r.Target)
		s.answer(r.ID, "cancel", done(nil))
	case *frame.Kill:
		s.answer(r.ID, "kill", done(s.server.runner.Kill(r)))
	case *frame.Stdin:
		s.answer(r.ID, "stdin", done(s.server.runner.Stdin(r)))
	default:
		s.launch(ctx, request)
	}
}

func (s *session) launch(ctx context.Context, request frame.Request) {
	id := request.Number()
	within, fault := s.takeOff(ctx, id)
	if fault != nil {
		s.send(frame.ErrorFor(id, fault))
		return
	}
	if exec, is := request.(*frame.Exec); is {
		s.exec(within, exec)
		return
	}
	s.all.Go(func() {
		defer s.land(id)
		s.perform(within, request)
	})
}

// exec starts the command before the next frame is read, so that input and signals for it find it.
func (s *session) exec(ctx context.Context, request *frame.Exec) {
	started, err := s.server.runner.Start(request)
	if err != nil {
		s.land(request.ID)
		s.send(frame.ErrorFor(request.ID, err))
		return
	}
	s.all.Go(func() {
		defer s.land(request.ID)
		result, err := started.Finish(ctx, s.emit(request.ID))
		s.answer(request.ID, request.Op, outcome{result, err})
	})
}

// takeOff enters a request among those in flight.
func (s *session) takeOff(ctx context.Context, id int64) (context.Context, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.flights[id] != nil {
		return nil, frame.Faultf(frame.InvalidArgument, "request id %d is in flight already", id)
	}
	if len(s.flights) >= limit.WorkshopInflightMaxCount {
		return nil, frame.Faultf(frame.Busy, "%d requests are in flight; wait for one", limit.WorkshopInflightMaxCount)
	}
	within, stop := context.WithCancel(ctx)
	s.flights[id] = stop
	return within, nil
}

func (s *session) land(id int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.flights[id]()
	delete(s.flights, id)
}

// cancel is heard or comes too late; both are success.
func (s *session) cancel(target int64) {
	s.mutex.Lock()
	stop := s.flights[target]
	s.mutex.Unlock()
	if stop != nil {
		stop()
		return
	}
	s.server.runner.End(target)
}

// outcome is a result or why there is none.
type outcome struct {
	result frame.Sealer
	err    error
}

func done(err error) outcome { return outcome{&frame.Done{}, err} }

func (s *session) answer(id int64, op string, o outcome) {
	if o.err != nil {
		s.send(frame.ErrorFor(id, o.err))
		return
	}
	o.result.Seal(id, op)
	s.send(o.result)
}

// send writes one reply whole. A peer that does not read for writeTimeout is given up.
func (s *session) send(reply any) {
	framed, err := frame.Encode(reply)
	if err != nil {
		fmt.Fprintf(os.Stderr, "workshop: %v\n", err)
		s.conn.Close()
		return
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := s.conn.Write(framed); err != nil {
		s.conn.Close()
	}
}
