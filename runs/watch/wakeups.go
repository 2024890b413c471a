package watch

import (
	"context"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/notices"
)

// Heard handles a notification on store.ChannelRuns. An invalid payload wakes every feed, as does a new connection,
// before which notifications may have been lost.
func (h *Hub) Heard(n pgdb.Notification) {
	if n.Resync {
		h.WakeAll()
		return
	}
	notice, err := notices.ParseNotice(n.Payload)
	switch {
	case err != nil:
		h.WakeAll()
	case notice.Replica == h.deps.Replica && notice.Replica != "":
		// the local writer has called Wake
	default:
		h.Wake(notice.Runs...)
	}
}

// poll periodically checks for logs that grew without a wake-up, with one query for many runs.
func (h *Hub) poll(ctx context.Context) {
	for clock.Sleep(ctx, h.deps.Clock, h.cfg.Poll) == nil {
		for _, feeds := range h.feedsInParts(pollPart) {
			if err := h.pollPart(ctx, feeds); err != nil && ctx.Err() == nil {
				h.deps.Logger.Warn().Err(err).Msg("polling the logs of watched runs failed")
				break
			}
		}
		h.mu.Lock()
		if h.roots != nil {
			h.roots.lookBack()
		}
		h.mu.Unlock()
	}
}

// pollPart is how many runs one query of the poll asks about.
const pollPart = 5000

func (h *Hub) pollPart(ctx context.Context, feeds []*feed) error {
	ids := make([]int64, len(feeds))
	for i, f := range feeds {
		ids[i] = f.runID
	}
	if err := h.acquire(ctx); err != nil {
		return err
	}
	seqs, err := h.deps.Log.LastSeqs(ctx, ids)
	h.free()
	if err != nil {
		return err
	}
	for _, f := range feeds {
		if seqs[f.runID] > f.position() {
			poke(f.wake)
		}
	}
	return nil
}

func (h *Hub) feedsInParts(size int) [][]*feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	var parts [][]*feed
	for _, f := range h.feeds {
		if n := len(parts); n == 0 || len(parts[n-1]) == size {
			parts = append(parts, make([]*feed, 0, min(size, len(h.feeds))))
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], f)
	}
	return parts
}
