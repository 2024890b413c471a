package store

import "github.com/hashicorp/golang-lru/v2/simplelru"

// digestSet is an LRU set of the digests of specs that are known to be stored. A sweep that deletes specs starts a
// new generation, which clears the set. It is not safe for concurrent use.
type digestSet struct {
	generation int64
	recent     *simplelru.LRU[string, struct{}]
}

func newDigestSet(bound int) *digestSet {
	recent, err := simplelru.NewLRU[string, struct{}](bound, nil)
	if err != nil {
		panic(err) // the bound is not positive, and it is a constant
	}
	return &digestSet{recent: recent}
}

func (s *digestSet) has(digest []byte) bool {
	_, ok := s.recent.Get(string(digest))
	return ok
}

func (s *digestSet) add(digest []byte) { s.recent.Add(string(digest), struct{}{}) }

// begin clears the set when the generation has changed.
func (s *digestSet) begin(generation int64) {
	if s.generation != generation {
		s.generation = generation
		s.recent.Purge()
	}
}
