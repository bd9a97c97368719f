package patch

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git names blobs by it; nothing is trusted because of it
	"encoding/hex"
	"fmt"
)

// side is one version of a file; a nil *side means that there is none.
type side struct {
	mode string
	data []byte
}

const noBlob = "0000000000000000000000000000000000000000"

// blobName is git's name of the content.
func (s *side) blobName() string {
	if s == nil {
		return noBlob
	}
	sum := sha1.New()
	fmt.Fprintf(sum, "blob %d\x00", len(s.data))
	sum.Write(s.data)
	return hex.EncodeToString(sum.Sum(nil))
}

func (s *side) bytes() []byte {
	if s == nil {
		return nil
	}
	return s.data
}

// writeFile writes the part of the patch about one path. false means that the change has too many lines to show.
// A file that became a link or the reverse is a deletion and a creation.
func writeFile(out *bytes.Buffer, name string, old, new *side) bool {
	if old != nil && new != nil && isLink(old) != isLink(new) {
		return writeFile(out, name, old, nil) && writeFile(out, name, nil, new)
	}
	common := writeHead(out, name, old, new)
	if old != nil && new != nil && bytes.Equal(old.data, new.data) {
		return true
	}
	fmt.Fprintf(out, "index %s..%s%s\n", old.blobName(), new.blobName(), common)
	return writeContent(out, name, old, new)
}

// writeHead writes the lines that name a file and its modes; common is the mode of both sides when it is one.
func writeHead(out *bytes.Buffer, name string, old, new *side) (common string) {
	fmt.Fprintf(out, "diff --git %s %s\n", quoted("a/"+name), quoted("b/"+name))
	switch {
	case old == nil:
		fmt.Fprintf(out, "new file mode %s\n", new.mode)
	case new == nil:
		fmt.Fprintf(out, "deleted file mode %s\n", old.mode)
	case old.mode != new.mode:
		fmt.Fprintf(out, "old mode %s\nnew mode %s\n", old.mode, new.mode)
	default:
		common = " " + old.mode
	}
	return common
}

func isLink(s *side) bool { return s.mode == "120000" }

func writeContent(out *bytes.Buffer, name string, old, new *side) bool {
	before, after := old.bytes(), new.bytes()
	switch {
	case len(before) == 0 && len(after) == 0:
		return true
	case isBinary(before) || isBinary(after):
		writeBinary(out, before, after)
		return true
	}
	fmt.Fprintf(out, "--- %s\n+++ %s\n", nameOr(old, "a/"+name), nameOr(new, "b/"+name))
	return writeHunks(out, before, after)
}

func nameOr(s *side, name string) string {
	if s == nil {
		return "/dev/null"
	}
	return fileLine(name)
}
