package watch

import "context"

// Vitals describe the watches of this process.
type Vitals struct {
	// Followed is the number of runs whose log is followed.
	Followed int
	// Subscribers is how many streams follow a run, ListSubscribers how many follow lists of runs.
	Subscribers, ListSubscribers int
	// Behind is the number of changes in the logs of followed runs that have not been delivered to subscribers.
	Behind int64
}

// Vitals counts the subscribers and compares their positions with the logs.
func (h *Hub) Vitals(ctx context.Context) (Vitals, error) {
	v := h.Streams()
	for _, feeds := range h.feedsInParts(pollPart) {
		ids := make([]int64, len(feeds))
		for i, f := range feeds {
			ids[i] = f.runID
		}
		seqs, err := h.deps.Log.LastSeqs(ctx, ids)
		if err != nil {
			return v, err
		}
		for _, f := range feeds {
			v.Behind += max(0, seqs[f.runID]-f.position())
		}
	}
	return v, nil
}

// Streams are the vitals that need no query: all but how far streams are behind.
func (h *Hub) Streams() Vitals {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := Vitals{}
	v.Followed = len(h.feeds)
	for _, f := range h.feeds {
		v.Subscribers += f.users
	}
	if h.roots != nil {
		v.ListSubscribers = h.roots.users
	}
	return v
}
