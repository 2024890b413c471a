package bridge

import (
	"context"
	"slices"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// maxUIDs is how many assignments the contract lets us ask for at once.
const maxUIDs = 500

// mend compares all live actions with all objects: what nobody wants is deleted, what is missing is created.
func (s *session) mend(ctx context.Context) {
	s.unmarked(ctx)
	for _, object := range s.indexer.List() {
		uid, ok := uidOf(object)
		if !ok {
			continue
		}
		if live, _ := s.desired.isLive(uid); !live {
			s.extra.Store(uid, nil)
			s.queue.AddAfter(uid, s.config.ReleaseGrace)
		}
	}
	var missing []int64
	for _, uid := range s.desired.uids() {
		if s.desired.assignment(uid) == nil && len(s.existing(uid)) == 0 {
			missing = append(missing, uid)
		}
	}
	for chunk := range slices.Chunk(missing, maxUIDs) {
		if !s.fetch(ctx, chunk) {
			return
		}
	}
}

// fetch asks for assignments and queues them, at the pace at which objects are made. It ends with ctx, or with success.
func (s *session) fetch(ctx context.Context, uids []int64) bool {
	for backoff := s.config.FirstBackoff; ctx.Err() == nil; {
		if full := s.desired.full(); full != nil {
			select {
			case <-full:
			case <-ctx.Done():
			}
			continue
		}
		call, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
		response, err := s.engine.GetAssignments(call, &enginev1.GetAssignmentsRequest{Uids: uids})
		cancel()
		if err == nil {
			for _, uid := range s.desired.found(response.GetAssignments()) {
				s.queue.Add(uid)
			}
			return true
		}
		s.logger.Warn().Err(err).Int("uids", len(uids)).Msg("missing assignments could not be read; trying again")
		s.pause(ctx, backoff)
		backoff = min(2*backoff, s.config.MaxBackoff)
	}
	return false
}
