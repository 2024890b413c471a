package connectors

import (
	"sync"
	"time"
)

// logged knows which connectors have logs of which types of tasks.
type logged struct {
	mu    sync.Mutex
	types map[[2]string]haslog // GUARDED_BY(mu): by connector and type
}

type haslog struct {
	has   bool
	until time.Time
}

// stale reports whether the connector has to be asked.
func (l *logged) stale(connector, taskType string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.types[[2]string{connector, taskType}]
	return !ok || !known.has && !now.Before(known.until)
}

func (l *logged) set(connector, taskType string, has bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.types == nil {
		l.types = map[[2]string]haslog{}
	}
	l.types[[2]string{connector, taskType}] = haslog{has, now.Add(askAgain)}
}

func (l *logged) has(connector, taskType string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.types[[2]string{connector, taskType}].has
}
