package serve

import (
	"context"
	"os"
	"path"

	"guildhall.dev/workshop/internal/confine"
	"guildhall.dev/workshop/internal/frame"
	"guildhall.dev/workshop/internal/limit"
	"guildhall.dev/workshop/internal/patch"
)

func (s *Server) hello(request *frame.Hello) outcome {
	if request.Version != frame.ProtocolVersion {
		return outcome{err: frame.Faultf(frame.Unsupported, "protocol version %d is not spoken here; version %d is",
			request.Version, frame.ProtocolVersion)}
	}
	result := &frame.HelloResult{Version: frame.ProtocolVersion, Openat2: s.root.HasOpenat2(), UID: os.Getuid()}
	if !s.config.Unconfined {
		result.LandlockABI, result.Seccomp = confine.LandlockABI(), confine.SeccompAvailable()
	}
	if shell := s.runner.Shell(); shell != "" {
		result.Shell = path.Base(shell)
	}
	return outcome{result: result}
}

// perform does one request and sends its last reply.
func (s *session) perform(ctx context.Context, request frame.Request) {
	id := request.Number()
	switch r := request.(type) {
	case *frame.Read:
		result, err := s.server.files.Read(ctx, r)
		s.answer(id, r.Op, outcome{result, err})
	case *frame.Write:
		s.change(func() {
			result, err := s.server.files.Write(r)
			s.answer(id, r.Op, outcome{result, err})
		})
	case *frame.Edit:
		s.change(func() {
			result, err := s.server.files.Edit(r)
			s.answer(id, r.Op, outcome{result, err})
		})
	case *frame.Mkdir:
		s.change(func() { s.answer(id, r.Op, done(s.server.files.Mkdir(r))) })
	case *frame.Delete:
		s.change(func() { s.answer(id, r.Op, done(s.server.files.Delete(r))) })
	case *frame.List:
		result, err := s.server.files.List(r)
		s.answer(id, r.Op, outcome{result, err})
	case *frame.Stat:
		result, err := s.server.files.Stat(r)
		s.answer(id, r.Op, outcome{result, err})
	case *frame.Jobs:
		result, err := s.server.runner.Jobs(r)
		s.answer(id, r.Op, outcome{result, err})
	case *frame.Search:
		s.alone(ctx, id, func() {
			result, err := s.server.files.Search(ctx, r)
			s.answer(id, r.Op, outcome{result, err})
		})
	case *frame.Diff:
		s.alone(ctx, id, func() {
			result, err := s.diff(ctx, r)
			s.answer(id, r.Op, outcome{result, err})
		})
	}
}

func (s *session) change(act func()) {
	s.changing.Lock()
	defer s.changing.Unlock()
	act()
}

// alone waits for one of the few places for requests that need much memory.
func (s *session) alone(ctx context.Context, id int64, act func()) {
	select {
	case s.heavy <- struct{}{}:
		defer func() { <-s.heavy }()
		act()
	case <-ctx.Done():
		s.send(frame.ErrorFor(id, frame.Faultf(frame.Cancelled, "the request was cancelled before it began")))
	}
}

func (s *session) emit(id int64) func([]byte, int64) {
	return func(data []byte, skipped int64) {
		s.send(frame.Output{ID: id, Type: "output", Data: data, SkippedBytes: skipped})
	}
}

// diff sends the patch in chunks and gives the result that ends them.
func (s *session) diff(ctx context.Context, request *frame.Diff) (*frame.DiffResult, error) {
	if s.server.baseline == nil {
		return nil, frame.Faultf(frame.Unsupported, "this workshop was started without a baseline; there is nothing to compare with")
	}
	made, err := patch.Make(ctx, s.server.root, s.server.baseline, request.LimitBytes)
	if err != nil {
		return nil, err
	}
	for index, rest := 0, made.Text; len(rest) > 0; index++ {
		size := min(len(rest), limit.FrameDataMaxBytes)
		s.send(frame.Chunk{ID: request.ID, Type: "chunk", Index: index, Data: rest[:size]})
		rest = rest[size:]
	}
	return &frame.DiffResult{
		Size: int64(len(made.Text)), SHA256: made.SHA256, Omitted: made.Omitted, Lacking: made.Lacking, TooLarge: made.TooLarge,
	}, nil
}
