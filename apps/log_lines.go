package apps

import (
	"slices"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
)

const (
	// maxWaiting is how many lines are gathered at most. With more, the readers of logs wait for the client, so that a
	// slow client costs a bounded amount of memory.
	maxWaiting = 20_000
	// batchLines is how many lines one message has at most.
	batchLines = 500
)

// lines gathers lines of several replicas and sends them in the order of their times.
type lines struct {
	id   *app.Identifier
	send func(*app.TailLogsResponse) error

	mu      sync.Mutex
	room    *sync.Cond // of mu: some lines were sent
	waiting []line     // GUARDED_BY(mu)
	sent    bool       // GUARDED_BY(mu): since the last heartbeat
	closed  bool       // GUARDED_BY(mu): nothing more is sent
}

func newLines(id *app.Identifier, send func(*app.TailLogsResponse) error) *lines {
	l := &lines{id: id, send: send}
	l.room = sync.NewCond(&l.mu)
	return l
}

// close releases readers that wait for room; what they have is dropped.
func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.room.Broadcast()
}

type line struct {
	replica string
	*dataplane.LogLine
}

// add gathers lines of a replica. It blocks while there are too many, until some are sent or the stream ends.
func (l *lines) add(r replica, batch []*dataplane.LogLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) >= maxWaiting && !l.closed {
		l.room.Wait()
	}
	if l.closed {
		return
	}
	for _, text := range batch {
		// The cluster does not say who wrote a line. In the log of an app's container, that is the app.
		if text.GetOriginator() == dataplane.LogLineOriginator_UNKNOWN {
			text.Originator = dataplane.LogLineOriginator_USER
		}
		l.waiting = append(l.waiting, line{r.GetName(), text})
	}
}

// note adds a line of the system.
func (l *lines) note(r replica, text string) {
	l.add(r, []*dataplane.LogLine{{Message: text, Originator: dataplane.LogLineOriginator_SYSTEM}})
}

// announce sends the names of replicas.
func (l *lines) announce(found []replica) error {
	names := &app.ReplicaIdentifierList{}
	for _, r := range found {
		names.Replicas = append(names.Replicas, &app.ReplicaIdentifier{AppId: l.id, Name: r.GetName()})
	}
	return l.send(&app.TailLogsResponse{Resp: &app.TailLogsResponse_Replicas{Replicas: names}})
}

// flush sends what was gathered, in the order of its times. A line without a time, such as the rest of a traceback,
// takes that of the line before it in the same replica and so stays behind it: the sort is stable.
func (l *lines) flush() error {
	l.mu.Lock()
	waiting := l.waiting
	// Sent outside the lock: a client that reads slowly must not block the readers before their buffer is full.
	l.waiting = nil
	l.room.Broadcast()
	l.sent = l.sent || len(waiting) > 0
	l.mu.Unlock()
	last := map[string]time.Time{}
	times := make(map[*dataplane.LogLine]time.Time, len(waiting))
	for _, w := range waiting {
		if at := w.GetTimestamp(); at != nil {
			last[w.replica] = at.AsTime()
		}
		times[w.LogLine] = last[w.replica]
	}
	slices.SortStableFunc(waiting, func(a, b line) int { return times[a.LogLine].Compare(times[b.LogLine]) })
	for part := range slices.Chunk(waiting, batchLines) {
		batch := &app.LogLinesBatch{}
		for _, w := range part {
			n := len(batch.GetLogs())
			if n == 0 || batch.GetLogs()[n-1].GetReplicaId().GetName() != w.replica {
				batch.Logs = append(batch.Logs, &app.LogLines{ReplicaId: &app.ReplicaIdentifier{AppId: l.id, Name: w.replica}})
				n++
			}
			batch.Logs[n-1].StructuredLines = append(batch.Logs[n-1].StructuredLines, w.LogLine)
		}
		if err := l.send(&app.TailLogsResponse{Resp: &app.TailLogsResponse_Batches{Batches: batch}}); err != nil {
			return err
		}
	}
	return nil
}

// beat keeps a silent stream open.
func (l *lines) beat() error {
	l.mu.Lock()
	silent := !l.sent
	l.sent = false
	l.mu.Unlock()
	if !silent {
		return nil
	}
	return l.send(&app.TailLogsResponse{Resp: &app.TailLogsResponse_Batches{Batches: &app.LogLinesBatch{}}})
}
