package podlog

import (
	"bytes"
	"os"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/text/clip"
)

// End is the end of a log as text: at most the given numbers of bytes and lines, from the beginning of a line on where there is
// one. It is empty for a log that cannot be read.
func End(path string, maxBytes int, maxLines int) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	// Entries are longer than their text, so this is enough to find maxBytes of it in most logs.
	from := max(0, info.Size()-16*int64(maxBytes))
	raw := make([]byte, info.Size()-from)
	if _, err := file.ReadAt(raw, from); err != nil {
		return ""
	}
	if from > 0 {
		_, raw, _ = bytes.Cut(raw, []byte{'\n'})
	}
	var out bytes.Buffer
	p := &printer{w: &out, options: Options{Tail: -1}, lineStart: true}
	if _, err := drain(bytes.NewReader(raw), p, nil); err != nil {
		return ""
	}
	text := bytes.TrimSuffix(out.Bytes(), []byte{'\n'})
	for at, lines := len(text), 0; at >= 0; lines++ {
		at = bytes.LastIndexByte(text[:at], '\n')
		if lines+1 == maxLines && at >= 0 {
			text = text[at+1:]
			break
		}
	}
	end := clip.Tail(string(text), maxBytes)
	if len(text) > maxBytes {
		if _, rest, found := strings.Cut(end, "\n"); found {
			end = rest // begins at a line; the only line of a log has no other beginning
		}
	}
	return end
}
