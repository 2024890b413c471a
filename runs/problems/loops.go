package problems

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/store/problems"
)

const (
	// LeaseName is the lease of the replica that counts failures.
	LeaseName = "problems"
	// LogsLeaseName is the lease of the replica that reads logs for where failures come from.
	LogsLeaseName = "problem-logs"
)

const (
	batch      = 500       // failures of one transaction
	sweepEvery = time.Hour // between two sweeps
	maxTries   = 5         // to read a log
	logsAtOnce = 20        // signs of one pass
	logTimeout = time.Minute
)

// Rows are the stored problems; problems.Store is one.
type Rows interface {
	Count(ctx context.Context, limit int, sort func([]problems.Failure, map[int64][][]byte) []problems.Counted) (int, error)
	Sweep(ctx context.Context, keep int) error
	Unread(ctx context.Context, now time.Time, longest time.Duration, limit int) ([]problems.Unread, error)
	Postpone(ctx context.Context, sign int64, next *time.Time) error
	Found(ctx context.Context, sign int64, at problems.Place) error
}

// Logs finds tracebacks in logs; the client of FailureService does.
type Logs interface {
	ExplainFailure(ctx context.Context, r *insightv1.ExplainFailureRequest) (*insightv1.ExplainFailureResponse, error)
}

// Deps are the dependencies of the loops. All but Logs are required.
type Deps struct {
	Rows Rows
	// Logs may be nil: problems then have no frames.
	Logs   Logs
	Leases leased.Leases
	Clock  clock.Clock
	Logger zerolog.Logger
}

// Loops count failures, and find out where they come from.
type Loops struct {
	lifecycle.Background
	config Config
	deps   Deps
	swept  time.Time
}

var _ lifecycle.Part = (*Loops)(nil)

// New returns the loops; they do nothing before Start.
func New(config Config, deps Deps) *Loops { return &Loops{config: config, deps: deps} }

// Start implements lifecycle.Part.
func (l *Loops) Start(ctx context.Context) error {
	loops := []func(context.Context){
		leased.While(l.deps.Leases, LeaseName, l.config.Lease, leased.Every(l.deps.Clock, l.config.Every, l.count)),
	}
	if l.deps.Logs != nil {
		loops = append(loops, leased.While(l.deps.Leases, LogsLeaseName, l.config.Lease, leased.Every(l.deps.Clock, l.config.Every, l.read)))
	}
	return l.Run(l.deps.Logger.WithContext(ctx), loops...)
}

// count counts all failures that are listed.
func (l *Loops) count(ctx context.Context) error {
	now := l.deps.Clock.Now()
	if pause := now.Sub(l.swept); pause >= sweepEvery || pause < 0 {
		if err := l.deps.Rows.Sweep(ctx, l.config.Keep); err != nil {
			return err
		}
		l.swept = now
	}
	var readAt *time.Time
	if l.deps.Logs != nil {
		readAt = &now
	}
	for {
		taken, err := l.deps.Rows.Count(ctx, batch, sorter(readAt))
		if err != nil || taken < batch {
			return err
		}
	}
}

// read looks for the traceback of one failure of each new kind.
func (l *Loops) read(ctx context.Context) error {
	due, err := l.deps.Rows.Unread(ctx, l.deps.Clock.Now(), backoff.Longest(l.config.Backoff.Max), logsAtOnce)
	if err != nil {
		return err
	}
	for i := range due {
		if err := l.explain(ctx, &due[i]); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loops) explain(ctx context.Context, unread *problems.Unread) error {
	if unread.Gone {
		return l.deps.Rows.Postpone(ctx, unread.ID, nil)
	}
	asking, cancel := context.WithTimeout(authz.AsService(ctx, LogsLeaseName), logTimeout)
	defer cancel()
	response, err := l.deps.Logs.ExplainFailure(asking, &insightv1.ExplainFailureRequest{ActionId: unread.Action.Proto()})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if at, ok := frame(response.GetExceptions()); err == nil && ok {
		return l.deps.Rows.Found(ctx, unread.ID, at)
	}
	l.deps.Logger.Debug().Err(err).Stringer("action", unread.Action).Msg("a failure has no traceback in its log so far")
	// The end of an attempt may be known before the last lines of its log are stored, so a log without a traceback is read again, too.
	if unread.Tries+1 >= maxTries {
		return l.deps.Rows.Postpone(ctx, unread.ID, nil)
	}
	next := l.deps.Clock.Now().Add(backoff.After(l.config.Backoff.First, l.config.Backoff.Max, unread.Tries+1))
	return l.deps.Rows.Postpone(ctx, unread.ID, &next)
}

// frame is the last frame of the task's own code: of the exception that ended the program, or of the first cause that has one.
func frame(exceptions []*insightv1.RaisedException) (problems.Place, bool) {
	for _, raised := range exceptions {
		frames := raised.GetFrames()
		for i := len(frames) - 1; i >= 0; i-- {
			if frames[i].GetOwn() {
				return problems.Place{File: frames[i].GetFile(), Function: frames[i].GetFunction()}, true
			}
		}
	}
	return problems.Place{}, false
}
