package connectors

import (
	"context"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const (
	// metricsCounts is for how long the metrics of a job count as fresh.
	metricsCounts = 5 * time.Second
	// maxAsked is how many answers are kept.
	maxAsked = 64
	// maxAsking is how many connectors are asked for metrics at a time.
	maxAsking = 8
)

// asked keeps the metrics of jobs that people look at, and bounds how many are asked for at a time.
type asked struct {
	places chan struct{}

	mu   sync.Mutex
	kept *lru.Cache[attemptOfUID, *onceAsked] // GUARDED_BY(mu)
}

// attemptOfUID is an attempt of an action.
type attemptOfUID struct {
	uid     int64
	attempt int32
}

// onceAsked is one question: who comes while it is not answered waits for the answer.
type onceAsked struct {
	answered chan struct{}
	answer   *insightv1.GetJobMetricsResponse // set before answered is closed
	err      error                            // as answer
	until    time.Time                        // as answer
}

func newAsked() (*asked, error) {
	kept, err := lru.New[attemptOfUID, *onceAsked](maxAsked)
	return &asked{places: make(chan struct{}, maxAsking), kept: kept}, err
}

// metrics returns what is kept of an attempt while it is fresh, and asks otherwise.
func (a *asked) metrics(
	ctx context.Context, uid int64, attempt int32, now func() time.Time, ask func() (*insightv1.GetJobMetricsResponse, error),
) (*insightv1.GetJobMetricsResponse, error) {
	one, mine := a.of(attemptOfUID{uid, attempt}, now())
	if !mine {
		select {
		case <-one.answered:
			return one.answer, one.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case a.places <- struct{}{}:
		one.answer, one.err = ask()
		<-a.places
	default:
		one.err = rpc.ResourceExhausted("the metrics of %d jobs are being asked for, which is the limit; try again", maxAsking)
	}
	if one.until = now().Add(metricsCounts); one.err != nil {
		one.until = now() // who waited gets the error, and the next one asks again
	}
	close(one.answered)
	return one.answer, one.err
}

// of returns the question about an attempt, and whether the caller has to ask it.
func (a *asked) of(key attemptOfUID, now time.Time) (one *onceAsked, mine bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.kept.Get(key); ok {
		select {
		case <-known.answered:
			if now.Before(known.until) {
				return known, false
			}
		default:
			return known, false
		}
	}
	one = &onceAsked{answered: make(chan struct{})}
	a.kept.Add(key, one)
	return one, true
}
