package files

import (
	"bytes"
	"context"
	"regexp"

	"guildhall.dev/workshop/internal/limit"
)

// scanBlocks is scan in blocks of whole lines, looking at ctx between them: some patterns need microseconds for a byte,
// and eight megabytes of them would hold a search for minutes. A line longer than a block is matched in windows that
// overlap.
func scanBlocks(ctx context.Context, content []byte, pattern *regexp.Regexp, most int) []hit {
	var hits []hit
	line := 1
	for len(content) > 0 && len(hits) < most && ctx.Err() == nil {
		block := content[:blockEnd(content)]
		if len(block) <= limit.SearchBlockBytes {
			for _, one := range scan(block, pattern, most-len(hits)) {
				hits = append(hits, hit{one.line + line - 1, one.text})
			}
		} else if matchesWindow(ctx, block, pattern) {
			hits = append(hits, hit{line, showLine(bytes.TrimSuffix(block, []byte("\r\n")))})
		}
		content = content[len(block):]
		if len(content) > 0 {
			line += bytes.Count(block, []byte("\n"))
		}
	}
	return hits
}

// blockEnd is behind the last line that ends within a block, or behind the first when it is longer.
func blockEnd(content []byte) int {
	if len(content) <= limit.SearchBlockBytes {
		return len(content)
	}
	if end := bytes.LastIndexByte(content[:limit.SearchBlockBytes], '\n'); end >= 0 {
		return end + 1
	}
	return min(lineEnd(content, 0)+1, len(content))
}

func matchesWindow(ctx context.Context, line []byte, pattern *regexp.Regexp) bool {
	const step = limit.SearchBlockBytes - limit.SearchOverlapBytes
	line = bytes.TrimRight(line, "\r\n")
	for at := 0; at < len(line) && ctx.Err() == nil; at += step {
		if pattern.Match(line[at:min(at+limit.SearchBlockBytes, len(line))]) {
			return true
		}
	}
	return false
}
