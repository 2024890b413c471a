package connectors

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/connectors/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
)

// maxLog is how much of a job's log is stored, in bytes: its beginning.
const maxLog = 8 << 20

// seal stores the log of a job that has ended, so that it can be read without the connector. A log that cannot be read now is
// lost: the end of a job does not wait for it.
func (w *worker) seal(ctx context.Context, j *store.Job) {
	if j.Dir == "" || w.logContext(j) == nil {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, w.config.CallTimeout)
	defer cancel()
	var text strings.Builder
	log, err := w.log(bounded, j)
	if err == nil {
		err = log.more(bounded, func(lines []*dataplane.LogLine) error { return write(&text, lines) })
	}
	if err != nil && !errors.Is(err, errEnough) {
		zerolog.Ctx(ctx).Warn().Err(err).Stringer("action", j.Action).Str("connector", w.remote.Name).Msg("the log of a job could not be read to its end")
	}
	if err := w.deps.Store.WriteAll(ctx, blobpath.SealedLog(j.Dir, "", blobpath.JobLog), []byte(text.String())); err != nil && ctx.Err() == nil {
		zerolog.Ctx(ctx).Warn().Err(err).Stringer("action", j.Action).Msg("the log of a job could not be stored")
	}
}

// write adds lines to a stored log, each with its time.
func write(text *strings.Builder, lines []*dataplane.LogLine) error {
	for _, line := range lines {
		if text.Len()+len(line.GetMessage()) > maxLog {
			fmt.Fprintf(text, "(the log is longer than %d MiB; the rest was not stored)\n", maxLog>>20)
			return errEnough
		}
		if at := line.GetTimestamp(); at != nil {
			text.WriteString(at.AsTime().Format(time.RFC3339Nano) + " ")
		}
		text.WriteString(strings.ReplaceAll(line.GetMessage(), "\n", " ") + "\n")
	}
	return nil
}
