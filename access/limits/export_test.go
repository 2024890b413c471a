package limits

// Known is how many callers have a bucket that is not known to be full.
func (l *Limiter) Known() int {
	l.requests.caller.rate.mu.Lock()
	defer l.requests.caller.rate.mu.Unlock()
	return len(l.requests.caller.rate.full)
}
