package frame

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"guildhall.dev/workshop/internal/limit"
)

// Codes of an error reply, as the contract lists them.
const (
	PermissionDenied = "permission_denied"
	NotFound         = "not_found"
	Exists           = "exists"
	IsDirectory      = "is_directory"
	NotDirectory     = "not_directory"
	NotRegular       = "not_regular"
	TooLarge         = "too_large"
	Binary           = "binary"
	NoMatch          = "no_match"
	Ambiguous        = "ambiguous"
	InvalidArgument  = "invalid_argument"
	Stale            = "stale"
	NoSpace          = "no_space"
	IOError          = "io_error"
	Cancelled        = "cancelled"
	Busy             = "busy"
	Unsupported      = "unsupported"
)

// Fault is an error a handler gives the caller: a code of the contract and a message without host paths.
type Fault struct {
	Code    string
	Message string
}

func (f *Fault) Error() string { return f.Code + ": " + f.Message }

// Faultf makes a Fault.
func Faultf(code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf is the code of a Fault anywhere in err's chain, or "".
func CodeOf(err error) string {
	var fault *Fault
	if errors.As(err, &fault) {
		return fault.Code
	}
	return ""
}

type (
	Error struct {
		ID      int64  `json:"id"`
		Type    string `json:"type"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	Output struct {
		ID           int64  `json:"id"`
		Type         string `json:"type"`
		Data         Base64 `json:"data"`
		SkippedBytes int64  `json:"skippedBytes"`
	}
	Chunk struct {
		ID    int64  `json:"id"`
		Type  string `json:"type"`
		Index int    `json:"index"`
		Data  Base64 `json:"data"`
	}
	// Result is the head of every result reply; Seal fills it.
	Result struct {
		ID   int64  `json:"id"`
		Type string `json:"type"`
		Op   string `json:"op"`
	}
	Done        struct{ Result }
	HelloResult struct {
		Result
		Version     int    `json:"version"`
		LandlockABI int    `json:"landlockAbi"`
		Seccomp     bool   `json:"seccomp"`
		Openat2     bool   `json:"openat2"`
		Shell       string `json:"shell"`
		UID         int    `json:"uid"`
	}
	ReadResult struct {
		Result
		Data   Base64 `json:"data"`
		Size   int64  `json:"size"`
		Mode   uint32 `json:"mode"`
		SHA256 string `json:"sha256,omitempty"`
		UTF8   bool   `json:"utf8"`
		Offset int64  `json:"offset"`
		Lines  *int64 `json:"lines,omitempty"`
	}
	WriteResult struct {
		Result
		Created bool     `json:"created"`
		Size    int64    `json:"size"`
		SHA256  string   `json:"sha256"`
		Kept    []string `json:"kept,omitempty"`
	}
	EditResult struct {
		Result
		Replacements int    `json:"replacements"`
		Lines        []int  `json:"lines"`
		Size         int64  `json:"size"`
		SHA256       string `json:"sha256"`
	}
	Entry struct {
		Path    string `json:"path"`
		PathB64 string `json:"pathB64,omitempty"`
		Kind    string `json:"kind"`
		Size    int64  `json:"size"`
		Mode    uint32 `json:"mode"`
		Target  string `json:"target,omitempty"`
	}
	ListResult struct {
		Result
		Entries   []Entry `json:"entries"`
		Truncated bool    `json:"truncated"`
	}
	Match struct {
		Path    string `json:"path"`
		PathB64 string `json:"pathB64,omitempty"`
		Line    int    `json:"line"`
		Text    string `json:"text"`
	}
	SearchResult struct {
		Result
		Matches       []Match `json:"matches"`
		Truncated     bool    `json:"truncated"`
		FilesSearched int     `json:"filesSearched"`
		FilesTooLarge int     `json:"filesTooLarge,omitempty"`
	}
	StatResult struct {
		Result
		Entry Entry `json:"entry"`
	}
	ExecResult struct {
		Result
		Ended               string `json:"ended"`
		ExitCode            *int   `json:"exitCode,omitempty"`
		Signal              string `json:"signal,omitempty"`
		Head                Base64 `json:"head"`
		Tail                Base64 `json:"tail"`
		OmittedBytes        int64  `json:"omittedBytes"`
		TotalBytes          int64  `json:"totalBytes"`
		ElapsedMilliseconds int64  `json:"elapsedMilliseconds"`
		KilledProcesses     int    `json:"killedProcesses"`
		Job                 int64  `json:"job,omitempty"`
	}
	JobState struct {
		Job        int64  `json:"job"`
		Command    string `json:"command"`
		State      string `json:"state"`
		ExitCode   *int   `json:"exitCode,omitempty"`
		Signal     string `json:"signal,omitempty"`
		TotalBytes int64  `json:"totalBytes"`
	}
	JobsResult struct {
		Result
		Jobs         []JobState `json:"jobs"`
		Head         Base64     `json:"head"`
		Tail         Base64     `json:"tail"`
		OmittedBytes int64      `json:"omittedBytes"`
	}
	DiffResult struct {
		Result
		Size     int64    `json:"size"`
		SHA256   string   `json:"sha256"`
		Omitted  []string `json:"omitted"`
		Lacking  int      `json:"lacking"`
		TooLarge bool     `json:"tooLarge"`
	}
)

// Seal names the request a result answers.
func (r *Result) Seal(id int64, op string) { r.ID, r.Type, r.Op = id, "result", op }

// Sealer is any result reply.
type Sealer interface{ Seal(id int64, op string) }

// ErrorFor turns err into an error reply for request id; an error that is no Fault becomes io_error without its text,
// since the text of system errors may hold host paths.
func ErrorFor(id int64, err error) Error {
	var fault *Fault
	if !errors.As(err, &fault) {
		fault = Faultf(IOError, "the workspace could not be used: %s", errnoText(err))
	}
	return Error{ID: id, Type: "error", Code: fault.Code, Message: cut(fault.Message, limit.ErrorMessageMaxChars)}
}

func cut(text string, maxChars int) string {
	if utf8.RuneCountInString(text) <= maxChars {
		return text
	}
	return string([]rune(text)[:maxChars-1]) + "…"
}
