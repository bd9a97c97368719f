package baseline

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"guildhall.dev/workshop/internal/limit"
)

// Baseline is an opened baseline directory.
type Baseline struct {
	content  *os.File
	manifest string
}

// Open checks that dir holds a baseline; it reads little.
func Open(dir string) (*Baseline, error) {
	manifest := filepath.Join(dir, manifestName)
	if _, err := os.Stat(manifest); err != nil {
		return nil, fmt.Errorf("the baseline has no manifest; run prepare first: %w", err)
	}
	content, err := os.Open(filepath.Join(dir, contentName))
	if err != nil {
		return nil, fmt.Errorf("the baseline has no content; run prepare first: %w", err)
	}
	return &Baseline{content: content, manifest: manifest}, nil
}

// Entries reads the manifest, in byte order of the paths' directories as they were walked.
func (b *Baseline) Entries() ([]Entry, error) {
	file, err := os.Open(b.manifest)
	if err != nil {
		return nil, fmt.Errorf("the baseline's manifest cannot be opened")
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 8*limit.PathMaxChars)
	if !lines.Scan() || lines.Text() != header {
		return nil, fmt.Errorf("the baseline's manifest does not begin with %q", header)
	}
	var entries []Entry
	for lines.Scan() {
		if count, found := strings.CutPrefix(lines.Text(), "end "); found {
			if count != strconv.Itoa(len(entries)) {
				return nil, fmt.Errorf("the baseline's manifest has %d files and says %.20s", len(entries), count)
			}
			return entries, nil
		}
		entry, err := parseLine(lines.Text())
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return nil, fmt.Errorf("the baseline's manifest is cut off")
}

// Content gives the kept content of an entry; kept is false when only its hash was.
func (b *Baseline) Content(entry *Entry) (data []byte, kept bool, err error) {
	if entry.Offset < 0 {
		return nil, false, nil
	}
	data = make([]byte, entry.Size)
	if _, err := b.content.ReadAt(data, entry.Offset); err != nil && entry.Size > 0 {
		return nil, false, fmt.Errorf("the baseline's content is cut off")
	}
	return data, true, nil
}
