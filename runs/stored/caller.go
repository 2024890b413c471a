package stored

import (
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/measured"
)

// CallerUse is what a caller has stored in all measured projects, and its limit.
type CallerUse struct {
	Caller string
	// Most is the limit; 0 means none.
	Most int64
	// Used is by the last measurement of each project, and what the caller uploaded by way of the server since, in bytes.
	Used int64
	// MeasuredAt is when the oldest of these measurements began; zero when the caller has nothing.
	MeasuredAt time.Time
	// Next is when a project in which the caller has data is measured next, at the latest; zero when one is under way or due.
	Next time.Time
	// Largest is the project in which the caller has most, and LargestBytes how much.
	Largest      string
	LargestBytes int64

	counted int64 // of Used, what is not too old to limit anything
}

const callerSetting = "runs.stored.callerBytes"

// OfCaller is what a caller has stored; false where nothing is measured.
func (g *Guard) OfCaller(ctx context.Context, caller string) (CallerUse, bool, error) {
	if caller == "" || !g.config.on() {
		return CallerUse{}, false, nil
	}
	now := g.clock.Now()
	parts, err := g.callers.get(caller, now, func() ([]measured.Part, error) { return g.rows.OfCaller(ctx, caller) })
	if err != nil {
		return CallerUse{}, false, err
	}
	return g.config.ofCaller(caller, parts, now), true, nil
}

func (c Config) ofCaller(caller string, parts []measured.Part, now time.Time) CallerUse {
	use := CallerUse{Caller: caller, Most: c.CallerBytes}
	due, under := time.Time{}, false
	for i := range parts {
		p := &parts[i]
		if p.MeasuredAt == nil || !c.measures(p.Project) {
			continue
		}
		bytes := p.CallerBytes + p.CallerAdded
		if use.Largest == "" {
			use.Largest, use.LargestBytes = p.Project, bytes
		}
		use.Used += bytes
		if now.Sub(*p.MeasuredAt) <= c.oldAfter() {
			use.counted += bytes
		}
		if use.MeasuredAt.IsZero() || p.MeasuredAt.Before(use.MeasuredAt) {
			use.MeasuredAt = *p.MeasuredAt
		}
	}
	for i := range parts {
		next := c.due(&parts[i].Row, near(use.Used, use.Most))
		under = under || !next.After(now)
		if due.IsZero() || next.Before(due) {
			due = next
		}
	}
	if !under {
		use.Next = due
	}
	return use
}

// enterCaller judges a caller by the last measurements. Those that are too old count for nothing.
func (g *Guard) enterCaller(ctx context.Context, caller string, size int64, what string) error {
	if g.config.CallerBytes == 0 {
		return nil
	}
	use, measured, err := g.OfCaller(ctx, caller)
	if err != nil || !measured || use.counted < use.Most && use.counted+size <= use.Most {
		return err
	}
	g.meters.refuse(ctx, what, "caller")
	wait := waitFor(use.Next, g.clock.Now())
	if use.counted < use.Most {
		if use.counted == 0 {
			return rpc.ResourceExhausted("the file has %d bytes, and the runs and uploads of %s may have at most %d bytes in the object store (%s)",
				size, caller, use.Most, callerSetting)
		}
		return rpc.TryLater(wait, "the file has %d bytes, and the runs and uploads of %s have %d of at most %d bytes in the object store as measured at %s (%s), "+
			"%d of them in project %s; delete some of them, or let runs.retention delete old runs, and try again after the next measurement, in %s",
			size, caller, use.counted, use.Most, use.MeasuredAt.UTC().Format(time.RFC3339), callerSetting, use.LargestBytes, use.Largest, wait)
	}
	return rpc.TryLater(wait, "the runs and uploads of %s have %d bytes in the object store, measured at %s, and may have %d (%s); %d of them are in project %s; "+
		"delete some of them, or let runs.retention delete old runs, and try again after the next measurement, in %s",
		caller, use.counted, use.MeasuredAt.UTC().Format(time.RFC3339), use.Most, callerSetting, use.LargestBytes, use.Largest, wait)
}

// waitFor is when to try again, if the next measurement is at an instant.
func waitFor(next, now time.Time) time.Duration {
	if next.After(now) {
		return max(time.Second, next.Sub(now).Round(time.Second))
	}
	return soon
}
