package taskactions

import "context"

// compare reconciles all objects with all live actions: it deletes those that are not live and creates missing ones.
func (s *session) compare(ctx context.Context) {
	s.unmarked(ctx)
	for _, object := range s.indexer.List() {
		uid, ok := uidOf(object)
		if !ok {
			continue
		}
		live, _ := s.desired.isLive(uid)
		if live && !s.isEarlier(uid, object) {
			continue
		}
		if !live {
			s.extra.Store(uid, !s.compared.Load())
		}
		s.removals.Add(uid)
		if s.fence.isUp() {
			s.fence.give(uid)
		}
	}
	var missing []int64
	for _, uid := range s.desired.uids() {
		if s.desired.assignment(uid) == nil && len(s.existing(uid)) == 0 {
			missing = append(missing, uid)
		}
	}
	s.desired.miss(missing)
	for _, uid := range missing {
		s.creations.Add(uid)
	}
	s.compared.Store(true)
}
