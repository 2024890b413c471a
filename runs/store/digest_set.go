package store

// digestSet remembers digests of one generation, at most about twice a bound, the ones used lately. It belongs to one
// goroutine.
type digestSet struct {
	bound        int
	generation   int64
	newer, older map[string]struct{}
}

func newDigestSet(bound int) *digestSet {
	return &digestSet{bound: bound, newer: map[string]struct{}{}}
}

func (s *digestSet) has(digest []byte) bool {
	if _, ok := s.newer[string(digest)]; ok {
		return true
	}
	if _, ok := s.older[string(digest)]; ok {
		s.add(digest)
		return true
	}
	return false
}

func (s *digestSet) add(digest []byte) {
	if len(s.newer) >= s.bound {
		s.older, s.newer = s.newer, map[string]struct{}{}
	}
	s.newer[string(digest)] = struct{}{}
}

// begin forgets everything when another generation has begun.
func (s *digestSet) begin(generation int64) {
	if s.generation != generation {
		s.generation, s.newer, s.older = generation, map[string]struct{}{}, nil
	}
}
