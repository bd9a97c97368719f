// Package frame guards the socket: any bytes become a typed request or a refusal, and nothing larger than a frame is read.
package frame

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"guildhall.dev/workshop/internal/limit"
)

// Refusal says why bytes were not a request. ID is 0 when the frame named none, and the connection must then be closed.
type Refusal struct {
	ID     int64
	Code   string
	Reason string
}

func (r *Refusal) Error() string { return r.Reason }

// ReadBody reads one frame. io.EOF means the peer closed between frames; a *Refusal means it broke the protocol.
func ReadBody(source io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(source, head[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length < 2 || length > limit.FrameMaxBytes {
		return nil, &Refusal{Reason: fmt.Sprintf("frame length %d is outside 2..%d", length, limit.FrameMaxBytes)}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(source, body); err != nil {
		return nil, err
	}
	return body, nil
}

// Encode gives reply as one frame. It fails only for a reply larger than a frame, which the handlers' bounds rule out.
func Encode(reply any) ([]byte, error) {
	body, err := json.Marshal(reply)
	if err != nil {
		return nil, err
	}
	if len(body) > limit.FrameMaxBytes {
		return nil, fmt.Errorf("reply of %d bytes; a frame holds at most %d", len(body), limit.FrameMaxBytes)
	}
	framed := make([]byte, 4+len(body))
	binary.BigEndian.PutUint32(framed, uint32(len(body)))
	copy(framed[4:], body)
	return framed, nil
}

// Decode turns a frame body into one of the request types of this package.
func Decode(body []byte) (Request, *Refusal) {
	if !utf8.Valid(body) {
		return nil, &Refusal{Reason: "frame is not UTF-8"}
	}
	if depth(body) > limit.FrameMaxDepth {
		return nil, &Refusal{Reason: fmt.Sprintf("frame is nested deeper than %d", limit.FrameMaxDepth)}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return nil, &Refusal{Reason: "frame is not a JSON object"}
	}
	id, op, refusal := head(fields)
	if refusal != nil {
		return nil, refusal
	}
	make, known := requests[op]
	if !known {
		return nil, &Refusal{ID: id, Code: Unsupported, Reason: fmt.Sprintf("operation %.40q is not known", op)}
	}
	request := make()
	if err := fill(request, fields); err != nil {
		return nil, &Refusal{ID: id, Code: InvalidArgument, Reason: err.Error()}
	}
	return request, nil
}

func head(fields map[string]json.RawMessage) (id int64, op string, refusal *Refusal) {
	if err := json.Unmarshal(fields["id"], &id); err != nil || id < 1 || id > 1<<53-1 {
		return 0, "", &Refusal{Reason: "frame has no 'id' between 1 and 2^53-1"}
	}
	if err := json.Unmarshal(fields["op"], &op); err != nil {
		return id, "", &Refusal{ID: id, Code: InvalidArgument, Reason: "frame has no 'op' that is a string"}
	}
	return id, op, nil
}

// depth is the deepest nesting of arrays and objects, without building them.
func depth(body []byte) int {
	deepest, now, quoted := 0, 0, false
	for at := 0; at < len(body); at++ {
		switch c := body[at]; {
		case quoted && c == '\\':
			at++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}
