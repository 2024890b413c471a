package happenings

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Happening is an Event of the cluster about an object of an attempt.
type Happening struct {
	At              time.Time
	Reason, Message string
	// Source is who says it, such as kubelet or the name of an operator.
	Source  string
	Warning bool
	// Count is how often it has happened.
	Count int32
}

// Bounds of the log of an attempt.
const (
	maxHappenings = 50
	maxMessage    = 1024
)

// Log is what has happened to the current attempt of an action. The zero value is empty.
type Log struct {
	mu        sync.Mutex
	attempt   int32           // GUARDED_BY(mu)
	known     []Happening     // GUARDED_BY(mu): in the order of their first appearance
	told      int             // GUARDED_BY(mu): how many of them are recorded
	mentioned map[string]bool // GUARDED_BY(mu): messages of the attempt's states
	recorded  map[string]bool // GUARDED_BY(mu): those that are recorded, as they are
}

// begin makes the log that of an attempt, which is empty if it was that of an earlier one.
func (l *Log) begin(attempt int32) (current bool) {
	if attempt > l.attempt {
		l.attempt, l.known, l.told, l.mentioned, l.recorded = attempt, nil, 0, nil, nil
	}
	return attempt == l.attempt
}

// Add notes a happening, and reports whether it is worth a report of its own: warnings are, when they happen for the first time.
func (l *Log) Add(attempt int32, h Happening) (urgent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begin(attempt) {
		return false // of an attempt that is over
	}
	for i := range l.known {
		if l.known[i].Reason == h.Reason && l.known[i].Message == h.Message {
			l.known[i].Count = max(l.known[i].Count+1, h.Count)
			return false
		}
	}
	if len(l.known) >= maxHappenings {
		return false
	}
	h.Count = max(h.Count, 1)
	l.known = append(l.known, h)
	return h.Warning && !l.isMentioned(h.Message)
}

// Mention notes what the states of an attempt say, which is not said again. Empty messages are ignored.
func (l *Log) Mention(attempt int32, message string) {
	if message == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begin(attempt) {
		return
	}
	if l.mentioned == nil {
		l.mentioned = map[string]bool{}
	}
	if len(l.mentioned) < maxHappenings {
		l.mentioned[core(message)] = true
	}
}

// Record notes that a message of a state is recorded.
func (l *Log) Record(attempt int32, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if message == "" || !l.begin(attempt) || len(l.recorded) >= maxHappenings {
		return
	}
	if l.recorded == nil {
		l.recorded = map[string]bool{}
	}
	l.recorded[message] = true
}

// Recorded reports whether a state with this message is recorded.
func (l *Log) Recorded(attempt int32, message string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.attempt == attempt && l.recorded[message]
}

// Has reports whether a happening with this message is recorded.
func (l *Log) Has(attempt int32, message string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.attempt != attempt {
		return false
	}
	for _, h := range l.known[:l.told] {
		if same(core(h.Message), core(message)) {
			return true
		}
	}
	return false
}

// HasExactly reports whether a happening with just this message is recorded.
func (l *Log) HasExactly(attempt int32, message string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.attempt == attempt && slices.ContainsFunc(l.known[:l.told], func(h Happening) bool { return h.Message == message })
}

// News are the happenings that are not recorded, without those that the attempt's states mention. Told(attempt, mark) records them.
func (l *Log) News(attempt int32) (news []Happening, mark int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.attempt != attempt {
		return nil, 0
	}
	for _, h := range l.known[l.told:] {
		if !l.isMentioned(h.Message) {
			news = append(news, h)
		}
	}
	return news, len(l.known)
}

// Urgent reports whether there is news with a warning.
func (l *Log) Urgent(attempt int32) bool {
	news, _ := l.News(attempt)
	for _, h := range news {
		if h.Warning {
			return true
		}
	}
	return false
}

// Told notes that the happenings up to a mark are recorded.
func (l *Log) Told(attempt int32, mark int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.attempt == attempt {
		l.told = max(l.told, min(mark, len(l.known)))
	}
}

// isMentioned is called with the lock held.
func (l *Log) isMentioned(message string) bool {
	own := core(message)
	for said := range l.mentioned {
		if same(said, own) {
			return true
		}
	}
	return false
}

// same reports whether one of two messages is a part of the other.
func same(a, b string) bool { return strings.Contains(a, b) || strings.Contains(b, a) }

// core is a message without the name of the container at its beginning, which states have in other words.
func core(message string) string {
	if rest, found := strings.CutPrefix(message, "Container "); found {
		if _, text, found := strings.Cut(rest, ": "); found {
			return text
		}
	}
	return message
}
