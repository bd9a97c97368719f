package frame

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"guildhall.dev/workshop/internal/limit"
)

// Request is one of the structs below, complete and within its bounds.
type Request interface {
	Number() int64
	check() error
}

// Head is what every request shares.
type Head struct {
	ID int64  `json:"id"`
	Op string `json:"op"`
}

func (h *Head) Number() int64 { return h.ID }
func (h *Head) check() error  { return nil }

// Path names a file below the workspace: Path, or PathB64 for a name that is not UTF-8.
type Path struct {
	Path    string  `json:"path"`
	PathB64 *string `json:"pathB64"`
}

// Name is the path as bytes the kernel takes; check has already decoded it once.
func (p *Path) Name() string {
	if p.PathB64 == nil {
		return p.Path
	}
	raw, _ := base64.StdEncoding.DecodeString(*p.PathB64)
	return string(raw)
}

func (p *Path) checkPath() error {
	if utf8.RuneCountInString(p.Path) > limit.PathMaxChars {
		return fmt.Errorf("'path' is longer than %d characters", limit.PathMaxChars)
	}
	if p.PathB64 == nil {
		return nil
	}
	if p.Path != "" {
		return fmt.Errorf("'path' and 'pathB64' exclude each other")
	}
	if raw, err := base64.StdEncoding.DecodeString(*p.PathB64); err != nil || len(raw) > limit.PathMaxChars {
		return fmt.Errorf("'pathB64' is not base64 of at most %d bytes", limit.PathMaxChars)
	}
	return nil
}

// Base64 is bytes that travel as standard padded base64, at most FrameDataMaxBytes of them.
type Base64 []byte

func (b *Base64) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("base64 data is not a string")
	}
	if strings.ContainsAny(text, "\r\n") {
		return fmt.Errorf("base64 data holds line breaks")
	}
	if base64.StdEncoding.DecodedLen(len(text)) > limit.FrameDataMaxBytes+2 {
		return fmt.Errorf("base64 data is longer than %d bytes", limit.FrameDataMaxBytes)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("data is not base64")
	}
	*b = data
	return nil
}

// MarshalJSON writes base64 text, an empty one for no bytes (never null).
func (b Base64) MarshalJSON() ([]byte, error) {
	return json.Marshal(base64.StdEncoding.EncodeToString(b))
}

type (
	Hello struct {
		Head
		Version int `json:"version"`
	}
	Read struct {
		Head
		Path
		Offset int64  `json:"offset"`
		Limit  int    `json:"limit"`
		Line   *int64 `json:"line"`
	}
	Write struct {
		Head
		Path
		Data         Base64  `json:"data"`
		MustCreate   bool    `json:"mustCreate"`
		MakeParents  bool    `json:"makeParents"`
		Text         bool    `json:"text"`
		ExpectSHA256 *string `json:"expectSHA256"`
	}
	Edit struct {
		Head
		Path
		Old          Base64  `json:"old"`
		New          Base64  `json:"new"`
		All          bool    `json:"all"`
		ExpectSHA256 *string `json:"expectSHA256"`
	}
	List struct {
		Head
		Path
		Depth int `json:"depth"`
		Limit int `json:"limit"`
	}
	Search struct {
		Head
		Path
		Pattern    string  `json:"pattern"`
		Literal    bool    `json:"literal"`
		IgnoreCase bool    `json:"ignoreCase"`
		Glob       *string `json:"glob"`
		Limit      int     `json:"limit"`
	}
	Mkdir struct {
		Head
		Path
		Parents bool `json:"parents"`
	}
	Delete struct {
		Head
		Path
		Recursive bool `json:"recursive"`
	}
	Stat struct {
		Head
		Path
	}
	Exec struct {
		Head
		Command     string            `json:"command"`
		Cwd         string            `json:"cwd"`
		Env         map[string]string `json:"env"`
		Stdin       bool              `json:"stdin"`
		Background  bool              `json:"background"`
		WallSeconds float64           `json:"wallSeconds"`
		IdleSeconds float64           `json:"idleSeconds"`
		HeadBytes   int               `json:"headBytes"`
		TailBytes   int               `json:"tailBytes"`
	}
	// Jobs looks at background commands: all, or one with its output.
	Jobs struct {
		Head
		Job  *int64 `json:"job"`
		Stop bool   `json:"stop"`
	}
	Stdin struct {
		Head
		Target int64  `json:"target"`
		Data   Base64 `json:"data"`
		EOF    bool   `json:"eof"`
	}
	Kill struct {
		Head
		Target int64  `json:"target"`
		Signal string `json:"signal"`
	}
	Cancel struct {
		Head
		Target int64 `json:"target"`
	}
	Diff struct {
		Head
		LimitBytes int `json:"limitBytes"`
	}
)

// ProtocolVersion is what hello must name.
const ProtocolVersion = 1

// requests makes an empty request of each operation with the contract's defaults.
var requests = map[string]func() Request{
	"hello": func() Request { return &Hello{Version: ProtocolVersion} },
	"read":  func() Request { return &Read{Limit: limit.FrameDataMaxBytes} },
	"write": func() Request { return &Write{MakeParents: true} },
	"edit":  func() Request { return &Edit{} },
	"list":  func() Request { return &List{Depth: 1, Limit: limit.ListMaxEntries} },
	"search": func() Request {
		return &Search{Limit: 100}
	},
	"mkdir":  func() Request { return &Mkdir{Parents: true} },
	"delete": func() Request { return &Delete{} },
	"stat":   func() Request { return &Stat{} },
	"exec": func() Request {
		return &Exec{
			WallSeconds: limit.CommandWallDefaultSeconds, IdleSeconds: limit.CommandIdleDefaultSeconds,
			HeadBytes: limit.CommandOutputHeadBytes, TailBytes: limit.CommandOutputTailBytes, Env: map[string]string{},
		}
	},
	"jobs":   func() Request { return &Jobs{} },
	"stdin":  func() Request { return &Stdin{} },
	"kill":   func() Request { return &Kill{Signal: "TERM"} },
	"cancel": func() Request { return &Cancel{} },
	"diff":   func() Request { return &Diff{LimitBytes: limit.PatchMaxBytes} },
}

// required lists the fields that have no default.
var required = map[string][]string{
	"write": {"data"}, "edit": {"old", "new"}, "search": {"pattern"}, "exec": {"command"},
	"stdin": {"target"}, "kill": {"target"}, "cancel": {"target"},
}

// fill decodes fields into request: exact names only, null only where a field is optional, then the bounds.
func fill(request Request, fields map[string]json.RawMessage) error {
	optional := map[string]bool{}
	names(reflect.TypeOf(request).Elem(), optional)
	for name, raw := range fields {
		nullable, known := optional[name]
		if !known {
			return fmt.Errorf("field %.40q is not known", name)
		}
		if !nullable && bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
			return fmt.Errorf("field %q is null", name)
		}
	}
	var op string
	_ = json.Unmarshal(fields["op"], &op)
	for _, name := range required[op] {
		if _, given := fields[name]; !given {
			return fmt.Errorf("field %q is missing", name)
		}
	}
	whole, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("fields are not JSON")
	}
	if err := json.Unmarshal(whole, request); err != nil {
		return fmt.Errorf("a field has the wrong type: %.200s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return request.check()
}

// names collects the JSON names of a struct and whether null is allowed for each.
func names(kind reflect.Type, into map[string]bool) {
	for field := range kind.Fields() {
		if field.Anonymous {
			names(field.Type, into)
			continue
		}
		into[field.Tag.Get("json")] = field.Type.Kind() == reflect.Pointer
	}
}
