package connectors

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/connectors/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/text/redact"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// maxLog is how much of a job's log is stored, in bytes: its beginning.
	maxLog = 8 << 20
	// logsAtOnce is how many logs of one connector are read at a time.
	logsAtOnce = 4
	// logsLoop is the lease of the loop that stores logs.
	logsLoop = "logs"
	// logPasses is the pause after which the loop looks for the logs of jobs that have ended meanwhile.
	logPasses = time.Second
)

// sealer stores the logs of jobs that have ended, so that they can be read without the connector. No end of a job waits for that: what is
// to be stored is durable, and a log that cannot be read is asked for again.
type sealer struct {
	*registry
	hand  map[store.Attempt]string // what is being read, with its connector
	ended chan store.Attempt
}

// keepLogs stores logs until the context ends.
func (s *registry) keepLogs(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	k := &sealer{registry: s, hand: map[store.Attempt]string{}, ended: make(chan store.Attempt)}
	for {
		next, err := k.pass(ctx, &reading)
		if err != nil {
			return err
		}
		if !k.await(ctx, next) {
			return nil
		}
	}
}

// pass begins to read the logs that are due, and returns how long it is until another is due.
func (k *sealer) pass(ctx context.Context, reading *sync.WaitGroup) (time.Duration, error) {
	hand := make([]store.Attempt, 0, len(k.hand))
	of := map[string]int{}
	for attempt, connector := range k.hand {
		hand = append(hand, attempt)
		of[connector]++
	}
	due, next, err := k.store.DueLogs(ctx, hand, logsAtOnce)
	if err != nil {
		return 0, err
	}
	for i := range due {
		log := &due[i]
		if of[log.Job.Connector]++; of[log.Job.Connector] > logsAtOnce {
			continue
		}
		attempt := store.Attempt{UID: log.Job.UID, Number: log.Job.Attempt}
		k.hand[attempt] = log.Job.Connector
		reading.Go(func() {
			k.seal(ctx, log)
			select {
			case k.ended <- attempt:
			case <-ctx.Done():
			}
		})
	}
	return next, nil
}

// await waits until there may be something to do, and reports whether the context continues.
func (k *sealer) await(ctx context.Context, next time.Duration) bool {
	pause := logPasses
	if next > 0 {
		pause = min(pause, next)
	}
	timer := k.deps.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case attempt := <-k.ended:
		delete(k.hand, attempt)
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
	return clock.Sleep(ctx, k.deps.Clock, gather) == nil
}

// seal stores a log, or says when to try again.
func (k *sealer) seal(ctx context.Context, log *store.Log) {
	reached := k.fleet.find(log.Job.Connector)
	if reached == nil { // an app whose routes are not known yet, or one that is gone
		k.later(ctx, log)
		return
	}
	w := &worker{registry: k.registry, remote: reached}
	text, err := w.readLog(ctx, &log.Job, k.config.CallTimeout)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		log.Failures++
		givesUp := log.EndedFor >= k.config.DeleteFor || !away(err) && log.Failures >= k.config.MaxErrors || gone(err)
		if !givesUp {
			k.later(ctx, log)
			return
		}
		zerolog.Ctx(ctx).Warn().Err(err).Stringer("action", log.Job.Action).Str("connector", reached.Name).Msg("the log of a job could not be read to its end")
		text += "(the rest of the log could not be read: " + said(err) + ")\n"
	}
	if err := w.storeLog(ctx, &log.Job, text); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Stringer("action", log.Job.Action).Msg("the log of a job could not be stored; retrying")
		k.later(ctx, log)
		return
	}
	if err := k.store.LogDone(ctx, log); err != nil && ctx.Err() == nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("a log is stored and will be stored again")
	}
}

func (k *sealer) later(ctx context.Context, log *store.Log) {
	if err := k.store.DeferLog(ctx, log, backoff.After(k.config.MinPoll, k.config.MaxBackoff, max(1, log.Failures))); err != nil && ctx.Err() == nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("a log stays due")
	}
}

// readLog reads the log of a job, within a time. An error comes with what was read before it.
func (w *worker) readLog(ctx context.Context, j *store.Job, within time.Duration) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var text strings.Builder
	log, err := w.log(bounded, j)
	if err == nil {
		err = log.more(bounded, func(lines []*dataplane.LogLine) error { return write(&text, lines) })
		if err != nil && !errors.Is(err, errEnough) {
			err = &saidError{err, log.hidden.Text(redact.Tokens(said(err)))}
		}
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return text.String(), err
}

func (w *worker) storeLog(ctx context.Context, j *store.Job, text string) error {
	return w.deps.Store.WriteAll(ctx, blobpath.SealedLog(j.Dir, "", blobpath.JobLog), []byte(text))
}

// logBeforeDeletion stores the log of a job that is about to be deleted: its connector may not know it afterwards. A log that takes long is
// read after the deletion.
func (w *worker) logBeforeDeletion(ctx context.Context, j *store.Job) error {
	w.asksForLog(ctx, j)
	if j.Dir == "" || w.logContext(j) == nil {
		return nil
	}
	text, err := w.readLog(ctx, j, min(askWithin, w.config.CallTimeout))
	if err == nil {
		err = w.storeLog(ctx, j, text)
	}
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return w.store.KeepLog(ctx, j)
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
