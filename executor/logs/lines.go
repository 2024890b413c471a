package logs

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
)

// maxLine is where an overlong line is cut, in bytes.
const maxLine = 256 << 10

// read sends every line of a log until its end; the channel is closed then.
func read(log io.Reader, lines chan<- *dataplane.LogLine, done <-chan struct{}) error {
	defer close(lines)
	reader := bufio.NewReaderSize(log, maxLine)
	for {
		text, err := reader.ReadSlice('\n')
		if len(text) > 0 {
			select {
			case lines <- parse(strings.TrimSuffix(string(text), "\n")):
			case <-done:
				return nil
			}
		}
		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// parse splits a line into its time and its text. The cut-off rest of a long line has no time.
func parse(text string) *dataplane.LogLine {
	line := &dataplane.LogLine{Originator: dataplane.LogLineOriginator_USER}
	stamp, rest, found := strings.Cut(text, " ")
	when, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		line.Message = strings.ToValidUTF8(text, "\uFFFD")
		return line
	}
	if found {
		line.Message = strings.ToValidUTF8(strings.TrimSuffix(rest, "\r"), "\uFFFD")
	}
	line.Timestamp = timestamppb.New(when)
	return line
}
