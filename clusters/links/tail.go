package links

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// orderAgain is how long a controller has until it says that it has an order. Then the order is sent again, perhaps over another
	// link: a notification may be lost, and a link may have ended.
	orderAgain = 3 * time.Second
	// maxOrders is how often an order is sent.
	maxOrders = 4
	// silence is how long a controller may send nothing about a log. It sends a sign of life every 10 s.
	silence = 30 * time.Second
	// look is how often the table is read without a notification.
	look = 2 * time.Second
	// room is how long SendLog waits for room.
	room = 5 * time.Second
	// closing bounds the removal of what is left of a log.
	closing = 5 * time.Second
)

// tail is a log that is read here.
type tail struct {
	*Links
	id, cluster string
	send        func(*enginev1.TailContainerResponse) error

	arrived chan arrival  // from controllers that reach this replica
	changed chan struct{} // there may be batches in the table
	ended   chan struct{} // closed when the reader has left
	next    int64         // the sequence of the next batch
}

// arrival is a batch that reached this replica.
type arrival struct {
	batch *clustersv1.SendLogRequest
	taken chan bool // whether it was; buffered
}

// errEnded ends a tail whose log has ended.
var errEnded = errors.New("the log has ended")

func (t *tail) wake() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// TailClusterLog implements clustersv1connect.ClusterLogServiceHandler.
func (l *Links) TailClusterLog(ctx context.Context, r *clustersv1.TailClusterLogRequest, to *connect.ServerStream[enginev1.TailContainerResponse]) error {
	order, err := notice(r.GetRequest())
	if err != nil {
		return err
	}
	t := &tail{
		Links: l, id: newID(), cluster: r.GetCluster(), send: to.Send,
		arrived: make(chan arrival), changed: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	if err := l.deps.Store.OpenTail(ctx, t.id, t.cluster); err != nil {
		return err
	}
	l.mu.Lock()
	l.read[t.id] = t
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.read, t.id)
		l.mu.Unlock()
		close(t.ended)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		if err := l.deps.Store.CloseTail(ctx, t.id); err != nil {
			l.deps.Logger.Warn().Err(err).Msg("what is left of a log of a cluster will be removed later")
		}
	}()
	if err := t.run(ctx, order); !errors.Is(err, errEnded) {
		return err
	}
	return nil
}

// run orders the log and passes on what arrives, until the log ends with errEnded.
func (t *tail) run(ctx context.Context, order []byte) error {
	if err := t.order(ctx, order); err != nil {
		return err
	}
	ordered, heard, touched := 1, t.deps.Clock.Now(), t.deps.Clock.Now()
	for {
		tick := t.deps.Clock.NewTimer(look)
		before := t.next
		err := t.wait(ctx, tick.C())
		tick.Stop()
		if err != nil {
			return err
		}
		now := t.deps.Clock.Now()
		switch idle := now.Sub(heard); {
		case t.next > before:
			heard = now
		case idle > silence, t.next == 0 && ordered == maxOrders && idle > orderAgain*maxOrders:
			return rpc.Unavailable(nil, "cluster %s does not send the log, although its controller is connected; the log continues when it does", t.cluster)
		case t.next == 0 && ordered < maxOrders && idle > orderAgain*time.Duration(ordered):
			ordered++
			if err := t.order(ctx, order); err != nil {
				return err
			}
		}
		if now.Sub(touched) > silence {
			touched = now
			if err := t.deps.Store.TouchTail(ctx, t.id); err != nil {
				return err
			}
		}
	}
}

// wait passes on what arrives next, or returns after a tick.
func (t *tail) wait(ctx context.Context, tick <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case a := <-t.arrived:
		return t.take(ctx, a)
	case <-t.changed:
		return t.drain(ctx)
	case <-tick:
		return t.drain(ctx)
	}
}

// order sends the order to the replica that holds the latest link of the cluster.
func (t *tail) order(ctx context.Context, order []byte) error {
	link, err := t.deps.Store.LinkOf(ctx, t.cluster)
	if errors.Is(err, store.ErrNone) {
		return t.away(ctx)
	}
	if err != nil {
		return err
	}
	return t.deps.Store.NotifyTail(ctx, note{tail: t.id, link: link}.encode(order))
}

// away is the error for a log of a cluster that cannot be reached, in words for its reader.
func (t *tail) away(ctx context.Context) error {
	all, err := t.deps.States.All(ctx)
	if err != nil {
		return err //nolint:wrapcheck // it says what it could not read
	}
	for _, one := range all {
		if one.Name == t.cluster && one.Known() && one.State != states.Removed {
			return rpc.Unavailable(nil, "cluster %s is away since %s; the logs of what runs there continue when it is back",
				t.cluster, one.SeenAt.UTC().Format("2006-01-02 15:04:05 MST"))
		}
	}
	return rpc.Unavailable(nil, "cluster %s is not connected; the logs of what runs there need its controller", t.cluster)
}

// take passes on a batch that reached this replica, after those before it.
func (t *tail) take(ctx context.Context, a arrival) error {
	if a.batch.GetSequence() > t.next { // those before it reached other replicas
		if err := t.drain(ctx); err != nil {
			a.taken <- false
			return err
		}
	}
	if a.batch.GetSequence() > t.next {
		a.taken <- false
		return nil
	}
	err := t.pass(a.batch)
	a.taken <- true
	return err
}

// drain passes on the batches that reached other replicas.
func (t *tail) drain(ctx context.Context) error {
	batches, err := t.deps.Store.TailBatches(ctx, t.id)
	if err != nil || len(batches) == 0 {
		return err
	}
	for _, one := range batches {
		batch := &clustersv1.SendLogRequest{}
		if err := proto.Unmarshal(one, batch); err != nil {
			return rpc.DataLoss(err, "a batch of the log cannot be read")
		}
		if batch.GetSequence() > t.next {
			break
		}
		if err := t.pass(batch); err != nil {
			return err
		}
	}
	return t.deps.Store.ForgetBatches(ctx, t.id, t.next)
}

// pass sends the lines of a batch, unless it was sent before.
func (t *tail) pass(batch *clustersv1.SendLogRequest) error {
	if batch.GetSequence() < t.next {
		return nil
	}
	t.next++
	if len(batch.GetLines()) > 0 {
		if err := t.send(&enginev1.TailContainerResponse{Lines: batch.GetLines()}); err != nil {
			return err
		}
	}
	switch end := batch.GetEnd(); {
	case end == nil:
		return nil
	case end.GetCode() == 0:
		return errEnded
	default:
		return rpc.FromCode(connect.Code(end.GetCode()), end.GetMessage())
	}
}

// SendLog implements clustersv1connect.ClusterLinkServiceHandler.
func (l *Links) SendLog(ctx context.Context, r *clustersv1.SendLogRequest) (*clustersv1.SendLogResponse, error) {
	l.mu.Lock()
	here := l.read[r.GetTail()]
	l.mu.Unlock()
	if here != nil {
		if here.cluster != r.GetCluster() {
			return &clustersv1.SendLogResponse{Stop: true}, nil // as for one that does not exist
		}
		return here.offer(ctx, r)
	}
	body, err := proto.Marshal(r)
	if err != nil {
		return nil, rpc.Internal(err, "write the batch")
	}
	until := l.deps.Clock.Now().Add(room)
	for {
		result, err := l.deps.Store.PutBatch(ctx, r.GetTail(), r.GetCluster(), r.GetSequence(), body)
		switch {
		case err != nil:
			return nil, err
		case result == store.Put:
			return &clustersv1.SendLogResponse{}, l.deps.Store.NotifyTail(ctx, note{tail: r.GetTail()}.encode(nil))
		case result == store.NoTail:
			return &clustersv1.SendLogResponse{Stop: true}, nil
		case l.deps.Clock.Now().After(until):
			return &clustersv1.SendLogResponse{Again: true}, nil
		}
		if err := clock.Sleep(ctx, l.deps.Clock, pollRoom); err != nil {
			return nil, err
		}
	}
}

// pollRoom is how often SendLog looks for room in the table.
const pollRoom = 100 * time.Millisecond

// offer hands a batch to the reader of a log, which is here. It returns when that has taken it.
func (t *tail) offer(ctx context.Context, batch *clustersv1.SendLogRequest) (*clustersv1.SendLogResponse, error) {
	a := arrival{batch: batch, taken: make(chan bool, 1)}
	timer := t.deps.Clock.NewTimer(room)
	defer timer.Stop()
	select {
	case t.arrived <- a:
	case <-t.ended:
		return &clustersv1.SendLogResponse{Stop: true}, nil
	case <-timer.C():
		return &clustersv1.SendLogResponse{Again: true}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case taken := <-a.taken:
		return &clustersv1.SendLogResponse{Again: !taken}, nil
	case <-timer.C(): // the reader is slow: a repetition finds the batch sent
		return &clustersv1.SendLogResponse{Again: true}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
