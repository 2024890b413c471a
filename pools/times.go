package pools

import (
	"time"

	"github.com/flyte-binary/flyte-binary/pools/store"
)

// span returns when the process of an attempt began and ended, as its worker says, moved into the time in which that can have been:
// after the claim and before now. The clock of a worker may be wrong; how long the process ran is right by any clock. The
// beginning is zero if there was no process, and the end is now if the worker has not said when it was.
func span(a *store.Action, endedAt, now time.Time) (began, ended time.Time) {
	if ended = endedAt; ended.Unix() <= 0 {
		ended = now
	}
	if a.BegunAt == nil {
		return time.Time{}, earlier(ended, now)
	}
	began = *a.BegunAt
	// The clock of the worker is ahead: both times move back by as much.
	if ahead := ended.Sub(now); ahead > 0 {
		began, ended = began.Add(-ahead), now
	}
	if a.Claimed != nil {
		// It is behind: both move forward.
		if behind := a.Claimed.Sub(began); behind > 0 {
			began, ended = *a.Claimed, ended.Add(behind)
		}
	}
	return earlier(began, now), earlier(ended, now)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
