// Package prepare is the init container: it puts the binary in place, fills the workspace, proves the isolation and
// takes the baseline, and says in at most two kilobytes how that went.
package prepare

import (
	"encoding/json"
	"unicode/utf8"

	"guildhall.dev/workshop/internal/baseline"
	"guildhall.dev/workshop/internal/gate"
	"guildhall.dev/workshop/internal/limit"
)

// Outcomes beside the gate's.
const (
	WorkspaceFailed = "workspace_failed"
	SourceTooLarge  = "source_too_large"
	Internal        = "internal"
)

// Message is the contract's PrepareMessage.
type Message struct {
	Version             int             `json:"v"`
	Outcome             string          `json:"outcome"`
	Message             string          `json:"message"`
	Targets             []gate.Evidence `json:"targets"`
	Workspace           *Workspace      `json:"workspace,omitempty"`
	ElapsedMilliseconds int64           `json:"elapsedMilliseconds"`
}

// Workspace is the contract's WorkspaceEvidence.
type Workspace struct {
	Files           int    `json:"files"`
	ContentBytes    int64  `json:"contentBytes"`
	HashedOnlyFiles int    `json:"hashedOnlyFiles"`
	BaselineSHA256  string `json:"baselineSHA256,omitempty"`
}

func evidenceOf(found baseline.Summary) *Workspace {
	return &Workspace{found.Files, found.ContentBytes, found.HashedOnly, found.ManifestSHA256}
}

const messageMaxChars = 600

// Encode gives the message as JSON that fits a termination message: first the text is shortened, then reported targets
// are left out, then required ones, from the end.
func (m Message) Encode() []byte {
	m.Version = 1
	if m.Targets == nil {
		m.Targets = []gate.Evidence{}
	}
	m.Targets = append([]gate.Evidence{}, m.Targets...)
	m.Message = firstChars(m.Message, messageMaxChars)
	for {
		encoded, err := json.Marshal(m)
		if err == nil && len(encoded) <= limit.TerminationMessageMaxBytes {
			return encoded
		}
		if !m.shorten() {
			return []byte(`{"v":1,"outcome":"internal","message":"the termination message did not fit"}`)
		}
	}
}

func (m *Message) shorten() bool {
	if size := utf8.RuneCountInString(m.Message); size > 120 {
		m.Message = firstChars(m.Message, max(120, size/2))
		return true
	}
	for _, required := range []bool{false, true} {
		for i := len(m.Targets) - 1; i >= 0; i-- {
			if m.Targets[i].Required == required {
				m.Targets = append(m.Targets[:i], m.Targets[i+1:]...)
				return true
			}
		}
	}
	return false
}

func firstChars(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
