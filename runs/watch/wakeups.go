package watch

import (
	"context"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/pgdb"
)

// listen turns notifications of other replicas into wake-ups.
func (h *Hub) listen(ctx context.Context) {
	ctx = h.deps.Logger.WithContext(ctx)
	for ctx.Err() == nil {
		err := h.deps.Listen(ctx, h.heard)
		if ctx.Err() != nil {
			return
		}
		h.deps.Logger.Warn().Err(err).Msg("listening for changes of runs ended, polling meanwhile")
		if !h.sleep(ctx, h.cfg.Poll) {
			return
		}
	}
}

// heard understands a comma-separated list of run ids, after the name of the replica and a space if there is one.
// Everything else wakes all, as does a new connection, before which some may have been lost.
func (h *Hub) heard(n pgdb.Notification) {
	if n.Resync {
		h.WakeAll()
		return
	}
	payload := n.Payload
	if replica, rest, signed := strings.Cut(payload, " "); signed {
		if replica == h.deps.Replica && replica != "" {
			return // the local writer wakes us itself
		}
		payload = rest
	}
	fields := strings.Split(payload, ",")
	ids := make([]int64, 0, len(fields))
	for _, field := range fields {
		id, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			h.WakeAll()
			return
		}
		ids = append(ids, id)
	}
	h.Wake(ids...)
}

// poll looks from time to time whether a log has grown without a wake-up: one query for many runs.
func (h *Hub) poll(ctx context.Context) {
	for h.sleep(ctx, h.cfg.Poll) {
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
