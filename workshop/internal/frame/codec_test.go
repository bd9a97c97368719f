package frame

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"guildhall.dev/workshop/internal/limit"
)

const goldens = "../../../tests/golden/workshop/"

var update = flag.Bool("update", false, "write the reply goldens anew")

// golden is one case of requests.json; the Python decoder reads the same file.
type golden struct {
	Name      string
	Body      string
	BodyB64   []byte
	Before    string
	Repeat    string
	Times     int
	After     string
	Request   map[string]any
	Refused   bool
	RefusedID int64 `json:"refusedId"`
}

func (g *golden) bytes() []byte {
	if g.BodyB64 != nil {
		return g.BodyB64
	}
	return []byte(g.Body + g.Before + strings.Repeat(g.Repeat, g.Times) + g.After)
}

func readGoldens(t testing.TB) []golden {
	t.Helper()
	raw, err := os.ReadFile(goldens + "requests.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []golden
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestRequestGoldens(t *testing.T) {
	seen := map[string]bool{}
	for _, one := range readGoldens(t) {
		t.Run(one.Name, func(t *testing.T) {
			request, refusal := Decode(one.bytes())
			if one.Refused {
				if refusal == nil {
					t.Fatalf("accepted as %+v", request)
				}
				if refusal.ID != one.RefusedID || refusal.Reason == "" || len(refusal.Reason) > 500 {
					t.Fatalf("refused as %+v, not for id %d", refusal, one.RefusedID)
				}
				return
			}
			if refusal != nil {
				t.Fatal(refusal)
			}
			if got := wire(t, request); !reflect.DeepEqual(got, one.Request) {
				t.Fatalf("decoded\n%v\nnot\n%v", got, one.Request)
			}
			seen[one.Request["op"].(string)] = true
		})
	}
	for op := range requests {
		if !seen[op] {
			t.Errorf("no golden has operation %s", op)
		}
	}
}

// wire is the request as the contract writes it: fields that are null are left out.
func wire(t *testing.T, request Request) map[string]any {
	raw, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	for name, value := range fields {
		if value == nil {
			delete(fields, name)
		}
	}
	return fields
}

func TestReplyGoldens(t *testing.T) {
	zero, hash := 0, strings.Repeat("ab", 32)
	sealed := func(op string, result Sealer) any { result.Seal(7, op); return result }
	many := int64(7)
	replies := []any{
		ErrorFor(7, Faultf(NoMatch, "not found")), ErrorFor(7, errors.New("open /etc/passwd: oops")),
		ErrorFor(7, Faultf(IOError, "%s", strings.Repeat("ü", 3_000))),
		Output{ID: 7, Type: "output", Data: []byte("x"), SkippedBytes: 9}, Output{ID: 7, Type: "output"},
		Chunk{ID: 7, Type: "chunk", Index: 0, Data: bytes.Repeat([]byte{0xff}, 3)},
		sealed("hello", &HelloResult{Version: 1, Shell: "sh"}),
		sealed("read", &ReadResult{}), sealed("read", &ReadResult{Data: []byte("a"), Size: 1, Mode: 0o4755, SHA256: hash, UTF8: true}),
		sealed("write", &WriteResult{Created: true, Size: 1, SHA256: hash}),
		sealed("write", &WriteResult{Size: 1, SHA256: hash, Kept: []string{"bom", "utf-16", "crlf"}}),
		sealed("read", &ReadResult{Size: 9, Offset: 9, Lines: &many}),
		sealed("edit", &EditResult{Replacements: 1, Lines: []int{1}, Size: 1, SHA256: hash}),
		sealed("list", &ListResult{Entries: []Entry{}}),
		sealed("list", &ListResult{Entries: []Entry{{Path: `a\xff`, PathB64: "Yf8=", Kind: "symlink", Mode: 0o777, Target: "b"}}, Truncated: true}),
		sealed("search", &SearchResult{Matches: []Match{}}),
		sealed("search", &SearchResult{Matches: []Match{{Path: "a", Line: 1, Text: "<\u2028>"}}, FilesSearched: 1, FilesTooLarge: 2}),
		sealed("mkdir", &Done{}), sealed("delete", &Done{}), sealed("stdin", &Done{}), sealed("kill", &Done{}), sealed("cancel", &Done{}),
		sealed("stat", &StatResult{Entry: Entry{Kind: "directory"}}),
		sealed("exec", &ExecResult{Ended: "exited", ExitCode: &zero}), sealed("exec", &ExecResult{Ended: "signalled", Signal: "SIGKILL", KilledProcesses: 2}),
		sealed("exec", &ExecResult{Ended: "started", Job: 1}),
		sealed("jobs", &JobsResult{Jobs: []JobState{}}),
		sealed("jobs", &JobsResult{Jobs: []JobState{
			{Job: 1, Command: "serve", State: "running"}, {Job: 2, Command: "x", State: "exited", ExitCode: &zero, TotalBytes: 3},
			{Job: 3, Command: "y…", State: "signalled", Signal: "SIGKILL"}, {Job: 4, State: "stopped"}, {Job: 5, State: "process_limit"},
		}, Head: []byte("a"), Tail: []byte("b"), OmittedBytes: 1}),
		sealed("diff", &DiffResult{SHA256: hash, Omitted: []string{}}), sealed("diff", &DiffResult{SHA256: hash, Omitted: []string{"a: why"}, TooLarge: true}),
	}
	var lines [][]byte
	for _, reply := range replies {
		framed, err := Encode(reply)
		if err != nil {
			t.Fatal(err)
		}
		if int(binary.BigEndian.Uint32(framed)) != len(framed)-4 {
			t.Fatal("wrong length")
		}
		lines = append(lines, framed[4:])
	}
	got := append([]byte("[\n"), bytes.Join(lines, []byte(",\n"))...)
	got = append(got, "\n]\n"...)
	if *update {
		if err := os.WriteFile(goldens+"replies.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldens + "replies.json")
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("replies differ from the golden file (go test ./internal/frame -update): %v", err)
	}
}

func TestErrorsOfTheSystemShowNoHostPath(t *testing.T) {
	_, err := os.Open("/nonexistent/secret-place")
	for _, reply := range []Error{ErrorFor(1, err), ErrorFor(1, FromErrno(err, "a"))} {
		if strings.Contains(reply.Message, "secret-place") || reply.Message == "" {
			t.Errorf("message %q", reply.Message)
		}
	}
}

func TestReadBodyReadsNoMoreThanAFrame(t *testing.T) {
	frameOf := func(length uint32, body string) io.Reader {
		head := binary.BigEndian.AppendUint32(nil, length)
		return strings.NewReader(string(head) + body)
	}
	if body, err := ReadBody(frameOf(2, "{}rest")); err != nil || string(body) != "{}" {
		t.Fatalf("%q %v", body, err)
	}
	for _, length := range []uint32{0, 1, limit.FrameMaxBytes + 1, 1<<32 - 1} {
		var refusal *Refusal
		if _, err := ReadBody(frameOf(length, "{}")); !errors.As(err, &refusal) || refusal.ID != 0 {
			t.Errorf("length %d: %v", length, err)
		}
	}
	if _, err := ReadBody(strings.NewReader("")); err != io.EOF {
		t.Errorf("an end between frames is %v", err)
	}
	for _, cut := range []string{"\x00\x00", "\x00\x00\x00\x05{}"} {
		if _, err := ReadBody(strings.NewReader(cut)); err != io.ErrUnexpectedEOF {
			t.Errorf("a cut frame is %v", err)
		}
	}
}

func TestDepthIgnoresStrings(t *testing.T) {
	for body, want := range map[string]int{`{"a":"[[[[{{"}`: 1, `{"a":"\"[["}`: 1, `[[]]`: 2, `"`: 0, `\`: 0} {
		if got := depth([]byte(body)); got != want {
			t.Errorf("%s is %d deep, not %d", body, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, one := range readGoldens(f) {
		f.Add(one.bytes())
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		request, refusal := Decode(body)
		if (request == nil) == (refusal == nil) {
			t.Fatalf("%v and %v", request, refusal)
		}
		if request == nil {
			return
		}
		if err := request.check(); err != nil || request.Number() < 1 {
			t.Fatalf("accepted out of bounds: %v", err)
		}
		raw, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		again, refusal := Decode(dropNulls(raw))
		if refusal != nil || !reflect.DeepEqual(request, again) {
			t.Fatalf("%s does not come back: %v", raw, refusal)
		}
	})
}

func dropNulls(raw []byte) []byte {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields)
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	raw, _ = json.Marshal(fields)
	return raw
}

func TestBase64DataHasItsBound(t *testing.T) {
	text := base64.StdEncoding.EncodeToString(make([]byte, limit.FrameDataMaxBytes))
	var data Base64
	if err := json.Unmarshal([]byte(`"`+text+`"`), &data); err != nil || len(data) != limit.FrameDataMaxBytes {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`"`+text+`AAAA"`), &data); err == nil {
		t.Fatal("more was accepted")
	}
}
