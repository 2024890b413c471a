package outbound

import "sync"

// Places bounds the calls in flight, in total and per host: a host that is slow takes at most a quarter of them.
type Places struct {
	total int

	mu      sync.Mutex
	flights map[int64]string // the host of each call in flight; GUARDED_BY(mu)
}

// NewPlaces returns places for a number of calls, at least one.
func NewPlaces(total int) *Places { return &Places{total: max(1, total), flights: map[int64]string{}} }

// PerHost is how many calls one host may take.
func (p *Places) PerHost() int { return max(1, p.total/4) }

// Board takes a place for a call, unless the call is in flight or there is no free place.
func (p *Places) Board(id int64, host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, flying := p.flights[id]; flying || len(p.flights) >= p.total {
		return false
	}
	same := 0
	for _, other := range p.flights {
		if other == host {
			same++
		}
	}
	if same >= p.PerHost() {
		return false
	}
	p.flights[id] = host
	return true
}

// Land frees the place of a call.
func (p *Places) Land(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.flights, id)
}

// InFlight are the calls that have a place now.
func (p *Places) InFlight() map[int64]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := make(map[int64]bool, len(p.flights))
	for id := range p.flights {
		ids[id] = true
	}
	return ids
}

// Free is how many calls may still board.
func (p *Places) Free() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total - len(p.flights)
}

// Full lists the hosts that have all the places they may take.
func (p *Places) Full() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	count := map[string]int{}
	full := []string{}
	for _, host := range p.flights {
		if count[host]++; count[host] == p.PerHost() {
			full = append(full, host)
		}
	}
	return full
}
