package logs

import (
	"errors"
	"io"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/blob/storedlog"
)

// read sends every line of a log until its end; the channel is closed then.
func read(log io.Reader, lines chan<- *dataplane.LogLine, done <-chan struct{}) error {
	defer close(lines)
	reader := storedlog.NewReader(log)
	for {
		line, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		select {
		case lines <- line:
		case <-done:
			return nil
		}
	}
}
