package dataproxy

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

const (
	// maxSettled bounds the uploads that one request looks for: each costs a request to the object store.
	maxSettled = 8
	// maxPending bounds the uploads of a project that are still to be looked for. The oldest beyond it count as they were counted
	// when they were requested.
	maxPending = 1000
)

// pending is an upload that was requested.
type pending struct {
	uri     string
	by      string    // who asked for it; empty for a caller without limits of its own
	counted int64     // of the object's size, what is counted already
	refund  int64     // what was counted for nothing when no object appears
	until   time.Time // when the URL expires
}

// arrivals are uploads that were requested, those first that were not looked for longest.
type arrivals []pending

func (a *arrivals) add(p pending) {
	*a = append(*a, p)
	if len(*a) > maxPending {
		*a = (*a)[1:]
	}
}

// take removes and returns the uploads that are due.
func (a *arrivals) take() arrivals {
	taken := slices.Clone((*a)[:min(maxSettled, len(*a))])
	*a = (*a)[len(taken):]
	return taken
}

// settle looks for uploads. It returns how many bytes more there are than were counted, by who asked for them, and which uploads are still to be looked for:
// with an error, those that it has not looked for, too.
func (a arrivals) settle(ctx context.Context, store Store, now time.Time) (more map[string]int64, left arrivals, err error) {
	more = map[string]int64{}
	for i, p := range a {
		info, err := store.Stat(ctx, p.uri)
		switch {
		case err == nil:
			more[p.by] += info.Size - p.counted
		case !errors.Is(err, blobstore.ErrNotExist):
			return more, append(left, a[i:]...), storeError(err, "", p.uri)
		case now.Before(p.until):
			left = append(left, p)
		default:
			more[p.by] -= p.refund
		}
	}
	return more, left, nil
}
