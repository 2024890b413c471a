package limits

// Known is how many callers have a bucket that is not known to be full.
func (l *Limiter) Known() int {
	l.requests.mu.Lock()
	defer l.requests.mu.Unlock()
	return len(l.requests.full)
}
