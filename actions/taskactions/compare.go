package taskactions

import (
	"context"
	"slices"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// maxUIDs is how many assignments one call may ask for.
const maxUIDs = 500

// compare reconciles all objects with all live actions: it deletes those that are not live and creates missing ones.
func (s *session) compare(ctx context.Context) {
	s.unmarked(ctx)
	for _, object := range s.indexer.List() {
		uid, ok := uidOf(object)
		if !ok {
			continue
		}
		if live, _ := s.desired.isLive(uid); !live {
			s.extra.Store(uid, nil)
			s.removals.Add(uid)
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

// fetch reads assignments and queues them, at the pace at which objects are created. It ends with ctx, or with success.
func (s *session) fetch(ctx context.Context, uids []int64) bool {
	retries := s.config.Backoff.New()
	for ctx.Err() == nil {
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
				s.creations.Add(uid)
			}
			return true
		}
		s.logger.Warn().Err(err).Int("uids", len(uids)).Msg("cannot read missing assignments; retrying")
		if retries.Wait(ctx, s.clock) != nil {
			return false
		}
	}
	return false
}
