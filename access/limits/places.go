package limits

import "sync"

// places counts what each key has open. It is safe for concurrent use.
type places struct {
	limit int // 0 means none

	mu    sync.Mutex
	taken map[string]int // GUARDED_BY(mu)
}

func newPlaces(limit int) *places { return &places{limit: limit, taken: map[string]int{}} }

// enter takes a place, which leave gives back; ok is false if there is none.
func (p *places) enter(key string) (leave func(), ok bool) {
	if p.limit == 0 {
		return func() {}, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[key] >= p.limit {
		return nil, false
	}
	p.taken[key]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.taken[key]--; p.taken[key] == 0 {
			delete(p.taken, key)
		}
	}, true
}
