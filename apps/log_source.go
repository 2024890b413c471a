package apps

import (
	"cmp"
	"context"
	"errors"
	"math"
	"path"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/apps/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/blob/storedlog"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// retryLog is the pause before a log that broke off is read again.
const retryLog = time.Second

// logs reads the logs of replicas.
type logs struct {
	config  Config
	pods    func(cluster string) PodLogs
	blobs   Blobs
	clock   clock.Clock
	streams chan struct{} // one for each stream
}

// live follows the log of a running container until it ends or the context does. It resumes where it broke off, while the
// container is here, and begins after what was read of the runs before.
func (l *logs) live(ctx, here context.Context, a *store.App, r replica, from *reading, out *lines, limit int) {
	pods := l.pods(cmp.Or(r.GetCluster(), a.Cluster))
	observed, err := decodeObserved(a)
	if err != nil {
		return
	}
	from.turn.Lock()
	defer from.turn.Unlock()
	// The context here ends when the replica is gone: then a log that broke off is not resumed, but one that is still
	// open is read to its end.
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

// tail reads one stream of the cluster's log service and passes its batches on.
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
func (l *logs) stored(ctx context.Context, a *store.App, r replica, from *reading, out *lines, limit int) {
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
		from.pass(batch)
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
		out.note(r, "reading the stored log failed")
	}
}

// within reports whether a URI is in the directory of an app: a report can make the server read nothing else.
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

// pass moves the position to the end of lines of an earlier run, if it is not beyond them.
func (p *position) pass(batch []*dataplane.LogLine) {
	for _, line := range batch {
		if at := line.GetTimestamp().AsTime(); line.GetTimestamp() != nil && !at.Before(p.time) {
			p.time, p.seen = at, math.MaxInt32
		}
	}
}

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
