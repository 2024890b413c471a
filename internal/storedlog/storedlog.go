// Package storedlog reads the logs that executors and deployers keep in the object store. It imports the messages of lines
// only.
package storedlog

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// maxLine is where a line is cut, in bytes. PodLogService cuts at the same place, or positions would not agree.
const maxLine = 256 << 10

// Read reads a stored log: each line a time in RFC 3339 with nanoseconds, a space, and the text. It emits up to batch lines
// at a time.
func Read(log io.Reader, batch int, emit func([]*dataplane.LogLine) error) error {
	reader := bufio.NewReaderSize(log, maxLine)
	var lines []*dataplane.LogLine
	for {
		text, err := reader.ReadSlice('\n')
		if len(text) > 0 {
			lines = append(lines, parseLine(strings.TrimSuffix(string(text), "\n")))
		}
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended && !errors.Is(err, bufio.ErrBufferFull) {
			return rpc.Unavailable(err, "the stored log cannot be read on")
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

// parseLine divides a line into time and text. The rest of a line that was cut has no time.
func parseLine(text string) *dataplane.LogLine {
	line := &dataplane.LogLine{Originator: dataplane.LogLineOriginator_USER}
	stamp, message, _ := strings.Cut(text, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		message = text
	} else {
		line.Timestamp = timestamppb.New(at)
	}
	line.Message = strings.ToValidUTF8(strings.TrimSuffix(message, "\r"), "\uFFFD")
	return line
}
