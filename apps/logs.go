package apps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/apps/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/internal/storedlog"
)

const (
	// backlog is how many lines of each replica a stream about a whole app begins with.
	backlog = 1000
	// goneReplicas is how many replicas that are gone it begins with.
	goneReplicas = 5
	// gather is how long lines are gathered before they are sent, in the order of their times: the SDK drops lines that are
	// older than others that it has shown.
	gather = 200 * time.Millisecond
	// retryLog is the pause before a log that broke off is read again.
	retryLog = time.Second
	// lastLines is how long the logs of replicas that are gone are read on.
	lastLines = 5 * time.Second
	// maxWaiting is how many lines are gathered at most; then the logs are read no faster than the client reads.
	maxWaiting = 20_000
	// batchLines is how many lines one message has.
	batchLines = 500
)

// logs reads the logs of replicas.
type logs struct {
	config  Config
	pods    map[string]PodLogs
	blobs   Blobs
	clock   clock.Clock
	streams chan struct{} // one for each stream
}

// TailLogs implements appconnect.AppLogsServiceHandler: the names of the replicas, then their lines as they come. Replicas
// that start later join in. About one replica, the stream ends with its log; about an app, when that is deleted, or stopped
// and has no replica left.
func (h *handler) TailLogs(ctx context.Context, r *app.TailLogsRequest, to *connect.ServerStream[app.TailLogsResponse]) error {
	select {
	case h.logs.streams <- struct{}{}:
		defer func() { <-h.logs.streams }()
	default:
		return rpc.ResourceExhausted("%d streams of logs are open, which is the limit (apps.logStreams)", cap(h.logs.streams))
	}
	id, only := r.GetAppId(), ""
	if replica := r.GetReplicaId(); replica != nil {
		id, only = replica.GetAppId(), replica.GetName()
	}
	a, err := h.store.Get(ctx, keyOf(id))
	if err != nil {
		return err
	}
	changes := h.hub.subscribe()
	defer changes.close()
	t := &tailing{h: h, app: a, only: only, out: newLines(idOf(a.Key), to.Send), changes: changes, tails: map[string]context.CancelFunc{}}
	return ended(ctx, t.run(ctx))
}

// tailing is one stream.
type tailing struct {
	h       *handler
	app     *store.App
	only    string // the replica that it is about; empty for all
	out     *lines
	changes *subscription

	tails map[string]context.CancelFunc // of the logs that are read, by replica and restarts
	group sync.WaitGroup
	ended chan struct{}
}

// replica is a replica whose log is read.
type replica struct {
	*enginev1.ObservedReplica
	gone bool
}

// key tells the runs of the container of a replica apart: each has a log of its own.
func (r replica) key() string { return fmt.Sprintf("%s#%d", r.GetName(), r.GetRestarts()) }

func (t *tailing) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer t.group.Wait()
	defer t.out.close()
	defer cancel()
	t.ended = make(chan struct{}, 1)
	found, _, err := t.replicas(ctx)
	if err != nil {
		return err
	}
	if t.only != "" && len(found) == 0 {
		return rpc.NotFound("app %s has no replica %s, and its log was not kept", t.app.Name, t.only)
	}
	if err := t.out.announce(found); err != nil {
		return err
	}
	for _, r := range found {
		if r.gone {
			t.h.logs.stored(ctx, t.app, r, t.out, t.limit())
		}
	}
	t.start(ctx, found)
	return t.follow(ctx)
}

func (t *tailing) limit() int {
	if t.only != "" {
		return 0
	}
	return backlog
}

// follow sends lines, and takes up replicas that start, until there is nothing more to come.
func (t *tailing) follow(ctx context.Context) error {
	pause, poll := t.h.clock.NewTimer(gather), t.h.clock.NewTimer(t.h.config.Heartbeat)
	defer pause.Stop()
	defer poll.Stop()
	for {
		over := false
		var err error
		select {
		case <-pause.C():
			err = t.out.flush()
			pause.Reset(gather)
		case <-t.changes.ready:
			if ids := t.changes.take(); ids == nil || slices.Contains(ids, t.app.ID) {
				over, err = t.look(ctx)
			}
		case <-t.ended:
			over, err = t.look(ctx)
		case <-poll.C():
			if err = t.out.beat(); err == nil {
				over, err = t.look(ctx)
			}
			poll.Reset(t.h.config.Heartbeat)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if over {
			return t.finish(ctx)
		}
	}
}

// finish sends what the logs that are still read have left.
func (t *tailing) finish(ctx context.Context) error {
	for _, cancel := range t.tails {
		cancel()
	}
	read := make(chan struct{})
	go func() {
		t.group.Wait()
		close(read)
	}()
	limit, pause := t.h.clock.NewTimer(lastLines), t.h.clock.NewTimer(gather)
	defer limit.Stop()
	defer pause.Stop()
	for {
		select {
		case <-pause.C():
			if err := t.out.flush(); err != nil {
				return err
			}
			pause.Reset(gather)
			continue
		case <-read:
		case <-limit.C():
		case <-ctx.Done():
		}
		return t.out.flush()
	}
}

// look takes up replicas that are new, and reports whether nothing more is to come.
func (t *tailing) look(ctx context.Context) (over bool, err error) {
	found, exists, err := t.replicas(ctx)
	if err != nil {
		return false, err
	}
	live := slices.DeleteFunc(slices.Clone(found), func(r replica) bool { return r.gone })
	for key, cancel := range t.tails {
		if !slices.ContainsFunc(live, func(r replica) bool { return r.key() == key }) {
			cancel() // it is read to its end, but not again
			delete(t.tails, key)
		}
	}
	if t.start(ctx, live) {
		if err := t.out.announce(found); err != nil {
			return false, err
		}
	}
	if !exists || t.only != "" && len(live) == 0 {
		return true, nil
	}
	stopped := t.app.DesiredState == int16(app.Spec_DESIRED_STATE_STOPPED)
	return stopped && len(live) == 0, nil
}

// start reads the logs of replicas that are not read yet, and reports whether there were such.
func (t *tailing) start(ctx context.Context, found []replica) (started bool) {
	for _, r := range found {
		if _, reading := t.tails[r.key()]; reading || r.gone || r.GetContainer() == "" && r.GetAddress() == "" {
			continue
		}
		started = true
		here, cancel := context.WithCancel(ctx)
		t.tails[r.key()] = cancel
		a := *t.app
		t.group.Go(func() {
			defer cancel()
			t.h.logs.live(ctx, here, &a, r, t.out, t.limit())
			select {
			case t.ended <- struct{}{}:
			default:
			}
		})
	}
	return started
}

// replicas are those that run and the last that are gone, oldest first; false if the app does not exist any more.
func (t *tailing) replicas(ctx context.Context) (found []replica, exists bool, err error) {
	a, err := t.h.store.Get(ctx, t.app.Key)
	if rpc.IsNotFound(err) || err == nil && a.UID != t.app.UID {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	t.app = a
	observed, err := decodeObserved(a)
	if err != nil {
		return nil, false, err
	}
	gone, err := t.h.store.Gone(ctx, a.ID, keptGone(t.only))
	if err != nil {
		return nil, false, err
	}
	known := map[string]replica{}
	for _, row := range gone {
		ended := &enginev1.ObservedReplica{}
		if err := proto.Unmarshal(row.Replica, ended); err != nil {
			return nil, false, rpc.DataLoss(err, "a stored replica of app %s cannot be read", a.Name)
		}
		known[ended.GetName()] = replica{ended, true}
	}
	for _, r := range observed.GetRevisions() {
		for _, running := range r.GetReplicas() {
			if running.GetPhase() != phaseEnded {
				known[running.GetName()] = replica{running, false}
			}
		}
	}
	for _, r := range known {
		if t.only == "" || t.only == r.GetName() {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b replica) int {
		return cmp.Or(a.GetStartedAt().AsTime().Compare(b.GetStartedAt().AsTime()), strings.Compare(a.GetName(), b.GetName()))
	})
	return found, true, nil
}

// keptGone is how many replicas that are gone are looked at.
func keptGone(only string) int {
	if only != "" {
		return allGone
	}
	return goneReplicas
}

// allGone is more than an app remembers.
const allGone = 1000

// live follows the log of a running container until it ends or the context does. It resumes where it broke off, while the
// container is here.
func (l *logs) live(ctx, here context.Context, a *store.App, r replica, out *lines, limit int) {
	pods := l.pods[a.Cluster]
	if pods == nil {
		out.note(r, "the logs of cluster "+a.Cluster+" are not reachable from this process; configure its address under clusters")
		return
	}
	observed, err := decodeObserved(a)
	if err != nil {
		return
	}
	from := &position{}
	for {
		from.resume()
		err := l.tail(ctx, pods, &enginev1.TailContainerRequest{
			Namespace: observed.GetNamespace(), Pod: r.GetName(), Container: r.GetContainer(), Follow: true, TailLines: int64(limit),
		}, func(batch []*dataplane.LogLine) { out.add(r, from.after(batch)) })
		if err == nil || clock.Sleep(here, l.clock, retryLog) != nil {
			return
		}
	}
}

func (l *logs) tail(ctx context.Context, pods PodLogs, r *enginev1.TailContainerRequest, emit func([]*dataplane.LogLine)) error {
	stream, err := pods.TailContainer(ctx, r)
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // nothing is written
	for stream.Receive() {
		emit(stream.Msg().GetLines())
	}
	return stream.Err()
}

// stored adds the last lines of a log that was kept; limit 0 means all.
func (l *logs) stored(ctx context.Context, a *store.App, r replica, out *lines, limit int) {
	if !within(l.blobs.Root(), a, r.GetLogUri()) {
		return
	}
	object, err := l.blobs.NewReader(ctx, r.GetLogUri())
	if err != nil {
		if !errors.Is(err, blobstore.ErrNotExist) {
			out.note(r, "the stored log cannot be read")
		}
		return
	}
	defer object.Close()
	var last []*dataplane.LogLine
	err = storedlog.Read(object, batchLines, func(batch []*dataplane.LogLine) error {
		if limit == 0 {
			out.add(r, batch)
			return out.flush()
		}
		last = append(last, batch...)
		last = last[max(0, len(last)-limit):]
		return nil
	})
	out.add(r, last)
	if err != nil {
		out.note(r, "the stored log cannot be read on")
	}
}

// within reports whether a URI lies in the directory of an app: a report can make the server read nothing else.
func within(root string, a *store.App, uri string) bool {
	dir := blobpath.AppDir(root, a.Project, a.Domain, a.UID) + "/"
	rest, inside := strings.CutPrefix(uri, dir)
	return inside && rest != "" && path.Clean("/"+rest) == "/"+rest
}

// position is a place in a log: the time of the last line, and how many lines of that time were read.
type position struct {
	time time.Time
	seen int
	// again says that lines up to the position are being read again; skip is how many of its time are to come.
	again bool
	skip  int
}

// resume is called before a log is read again: it begins with lines that were read.
func (p *position) resume() { p.again, p.skip = !p.time.IsZero(), p.seen }

// after leaves out the lines up to the position, and moves it.
func (p *position) after(batch []*dataplane.LogLine) []*dataplane.LogLine {
	var fresh []*dataplane.LogLine
	for _, line := range batch {
		if at := line.GetTimestamp().AsTime(); line.GetTimestamp() != nil {
			switch {
			case p.again && at.Before(p.time):
				continue
			case p.again && at.Equal(p.time) && p.skip > 0:
				p.skip--
				continue
			case at.Equal(p.time):
				p.seen++
			default:
				p.time, p.seen = at, 1
			}
			p.again = false
		}
		fresh = append(fresh, line)
	}
	return fresh
}

// lines gathers lines of several replicas and sends them in the order of their times.
type lines struct {
	id   *app.Identifier
	send func(*app.TailLogsResponse) error

	mu      sync.Mutex
	room    *sync.Cond // of mu: some lines were sent
	waiting []line     // GUARDED_BY(mu)
	sent    bool       // GUARDED_BY(mu): since the last heartbeat
	closed  bool       // GUARDED_BY(mu): nothing is sent any more
}

func newLines(id *app.Identifier, send func(*app.TailLogsResponse) error) *lines {
	l := &lines{id: id, send: send}
	l.room = sync.NewCond(&l.mu)
	return l
}

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

// flush sends what was gathered. A line without a time stays behind the one before it.
func (l *lines) flush() error {
	l.mu.Lock()
	waiting := l.waiting
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
