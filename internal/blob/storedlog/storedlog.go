// Package storedlog reads logs of containers: those that executors and deployers keep in the object store, and those that a
// kubelet sends, which have the same form. It builds on internal/text/clip and imports the messages of lines.
package storedlog

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// maxLine is where a longer line is cut, in bytes, or up to three bytes before: never inside a character.
const maxLine = 256 << 10

// Reader reads the lines of a log, of which each has a time in RFC 3339 with nanoseconds, a space, and the text. All readers
// cut long lines at the same places, so that a position in a log is a number of lines, wherever the log is read.
type Reader struct {
	from   *bufio.Reader
	rest   []byte // of a character, from the end of the part before
	inside bool   // a line
	err    error  // how the log ended
}

// NewReader returns a reader of a log.
func NewReader(log io.Reader) *Reader { return &Reader{from: bufio.NewReaderSize(log, maxLine)} }

// Next returns the next line, or the next part of one that was cut. Parts after the first have no time. After the last line it
// returns io.EOF. Any other error is that of the log; what was read before it has been returned.
func (r *Reader) Next() (*dataplane.LogLine, error) {
	if r.err != nil {
		return nil, r.err
	}
	text, err := r.from.ReadSlice('\n')
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		r.err = err
	}
	if len(text) == 0 && len(r.rest) == 0 {
		return nil, err
	}
	part := string(append(r.rest, text...))
	r.rest = nil
	if errors.Is(err, bufio.ErrBufferFull) {
		whole := clip.Whole(part)
		r.rest = []byte(part[whole:])
		part = part[:whole]
	}
	line := parse(part, r.inside)
	r.inside = !strings.HasSuffix(part, "\n")
	return line, nil
}

// parse divides a line into time and text.
func parse(text string, inside bool) *dataplane.LogLine {
	line := &dataplane.LogLine{Originator: dataplane.LogLineOriginator_USER}
	if whole, ended := strings.CutSuffix(text, "\n"); ended {
		text = strings.TrimSuffix(whole, "\r")
	}
	if stamp, message, _ := strings.Cut(text, " "); !inside {
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
			line.Timestamp, text = timestamppb.New(at), message
		}
	}
	line.Message = strings.ToValidUTF8(text, "\uFFFD")
	return line
}

// Read reads a stored log. It emits up to batch lines at a time.
func Read(log io.Reader, batch int, emit func([]*dataplane.LogLine) error) error {
	reader := NewReader(log)
	var lines []*dataplane.LogLine
	for {
		line, err := reader.Next()
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return rpc.Unavailable(err, "reading the stored log failed")
		}
		if line != nil {
			lines = append(lines, line)
		}
		if len(lines) >= batch || ended && len(lines) > 0 {
			if err := emit(lines); err != nil {
				return err
			}
			lines = nil
		}
		if ended {
			return nil
		}
	}
}
