package measure

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// perCall is how many attempts one call reports.
const perCall = 500

// reportTimeout bounds one call.
const reportTimeout = 30 * time.Second

// report sends the points that are due: the first of an attempt, those of attempts that no longer run, and the rest from time to
// time.
func (m *Meter) report(ctx context.Context, running []Pod) {
	live := make(map[Attempt]bool, len(running))
	for _, pod := range running {
		live[pod.Attempt] = true
	}
	now := m.deps.Clock.Now()
	var due []Attempt
	for attempt, known := range m.usages {
		switch {
		case len(known.points) == 0 && !live[attempt]:
			delete(m.usages, attempt)
		case len(known.points) == 0:
		case !live[attempt], known.reported.IsZero(), now.Sub(known.reported) >= m.config.Report:
			due = append(due, attempt)
		}
	}
	for batch := range slices.Chunk(due, perCall) {
		request := &enginev1.RecordUsageRequest{}
		for _, attempt := range batch {
			request.Usages = append(request.Usages, m.usages[attempt].message(attempt))
		}
		call, cancel := context.WithTimeout(ctx, reportTimeout)
		_, err := m.deps.Recorder.RecordUsage(call, request)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				m.deps.Logger.Warn().Err(err).Int("attempts", len(batch)).Msg("cannot report what pods use; trying again later")
			}
			return
		}
		for _, attempt := range batch {
			known := m.usages[attempt]
			known.points, known.since, known.reported = nil, time.Time{}, now
			if !live[attempt] {
				delete(m.usages, attempt)
			}
		}
	}
}

func (c *curve) message(attempt Attempt) *enginev1.AttemptUsage {
	usage := &enginev1.AttemptUsage{
		Uid: attempt.UID, Attempt: attempt.Number, Requests: c.asks.requests(), Limits: c.asks.limits(), Gpus: c.asks.gpus, Points: c.points,
	}
	if !c.since.IsZero() {
		usage.Since = timestamppb.New(c.since)
	}
	return usage
}
