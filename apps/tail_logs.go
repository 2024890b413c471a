package apps

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/apps/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
)

const (
	// backlog is how many lines of each replica a stream about a whole app begins with.
	backlog = 1000
	// goneReplicas is how many replicas that are gone it begins with.
	goneReplicas = 5
	// gather is how long lines are gathered before they are sent, in the order of their times: the SDK drops lines that are
	// older than others that it has shown.
	gather = 200 * time.Millisecond
	// lastLines is how long the logs of replicas that are gone are read on.
	lastLines = 5 * time.Second
)

// TailLogs implements appconnect.AppLogsServiceHandler: the names of the replicas, then their lines as they come. Replicas
// that start later join in. About one replica, the stream ends with its log; about an app, when that is deleted, or stopped
// and has no replica left.
func (h *handler) TailLogs(ctx context.Context, r *app.TailLogsRequest, to *connect.ServerStream[app.TailLogsResponse]) error {
	select {
	case h.logs.streams <- struct{}{}:
		defer func() { <-h.logs.streams }()
	default:
		return rpc.ResourceExhausted("too many log streams: %d are open, which is the limit (apps.logStreams); try again", cap(h.logs.streams))
	}
	id, only := r.GetAppId(), ""
	if replica := r.GetReplicaId(); replica != nil {
		id, only = replica.GetAppId(), replica.GetName()
	}
	a, err := h.store.Get(ctx, keyOf(id))
	if err != nil {
		return err
	}
	changes := h.hub.Subscribe()
	defer changes.Close()
	t := &tailing{h: h, app: a, only: only, out: newLines(idOf(a.Key), to.Send), changes: changes, tails: map[string]context.CancelFunc{}, read: map[string]*reading{}}
	return t.run(ctx)
}

// tailing is one stream.
type tailing struct {
	h       *handler
	app     *store.App
	only    string // the replica that it is about; empty for all
	out     *lines
	changes *stream.Subscription[changes]

	tails map[string]context.CancelFunc // of the logs that are read, by replica and run
	read  map[string]*reading           // what was read of each replica
	group sync.WaitGroup
	ended chan struct{}
}

// replica is a replica whose log is read.
type replica struct {
	*enginev1.ObservedReplica
	gone bool
}

// key tells the runs of the container of a replica apart: each has a log of its own. One that waits to be started again is
// counted before it starts.
func (r replica) key() string {
	return fmt.Sprintf("%s#%d#%d", r.GetName(), r.GetRestarts(), r.GetStartedAt().GetSeconds())
}

// pod is the pod whose log it is. Of a container that was started again, each earlier run is a replica that is gone, named
// after the pod and the attempt.
func (r replica) pod() string {
	pod, _, _ := strings.Cut(r.GetName(), ".attempt-")
	return pod
}

// reading is how far the log of a pod was read. Its container's runs follow each other, and until the next one starts, the
// log of the last one is still there.
type reading struct {
	turn sync.Mutex // held while a run is read
	position
}

// of returns the reading of the pod of a replica.
func (t *tailing) of(r replica) *reading {
	if t.read[r.pod()] == nil {
		t.read[r.pod()] = &reading{}
	}
	return t.read[r.pod()]
}

// run announces the replicas, sends the stored logs of those that are gone, and follows the others. The deferred calls
// run in reverse order: end the readers, release those that wait for room, wait for all.
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
		return rpc.NotFound("app %s has no replica %s, and its log was not stored", t.app.Name, t.only)
	}
	if err := t.out.announce(found); err != nil {
		return err
	}
	for _, r := range found {
		if r.gone {
			t.h.logs.stored(ctx, t.app, r, t.of(r), t.out, t.limit())
		}
	}
	t.start(ctx, found)
	return t.follow(ctx)
}

// limit is how many lines of each log are sent at the start; 0 means all.
func (t *tailing) limit() int {
	if t.only != "" {
		return 0
	}
	return backlog
}

// follow sends lines, and picks up replicas that start, until there is nothing more to come.
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
		case <-t.changes.Ready():
			if ids := t.changes.Take().apps(); ids == nil || slices.Contains(ids, t.app.ID) {
				over, err = t.look(ctx)
			}
		case <-t.ended:
			over, err = t.look(ctx)
		// Also the fallback for a notification that was lost.
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

// look picks up replicas that are new, and reports whether nothing more is to come.
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
		// A copy: look replaces t.app while this log is read.
		a, from := *t.app, t.of(r)
		t.group.Go(func() {
			defer cancel()
			t.h.logs.live(ctx, here, &a, r, from, t.out, t.limit())
			select {
			case t.ended <- struct{}{}:
			default:
			}
		})
	}
	return started
}

// replicas are those that run and the last that are gone, oldest first; false if the app no longer exists.
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
		if t.only == "" || t.only == r.GetName() || t.only == r.pod() {
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
