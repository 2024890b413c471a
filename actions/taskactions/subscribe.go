package taskactions

import (
	"context"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
)

// subscribe follows the stream of assignments until ctx ends. During an outage of the runs service, the last desired
// state stays in force.
func (s *session) subscribe(ctx context.Context) {
	request := &enginev1.WatchAssignmentsRequest{Cluster: s.clusterID}
	if s.shard != ident.AllShards {
		request.Shard = proto.Uint32(uint32(s.shard)) //nolint:gosec // a small number
	}
	assignments := stream.Client[enginev1.WatchAssignmentsResponse]{
		Open: func(ctx context.Context) (*connect.ServerStreamForClient[enginev1.WatchAssignmentsResponse], error) {
			return s.engine.WatchAssignments(ctx, request)
		},
		MaxSilence: s.config.MaxSilence, MaxAge: s.config.Resync, Backoff: s.config.Backoff, Clock: s.clock,
		Failed: func(err error, pause time.Duration) {
			s.failed.Store(true)
			s.logger.Warn().Err(err).Dur("pause", pause).Msg("assignment stream failed; subscribing again")
		},
	}
	assignments.Follow(ctx, s.follow)
}

// follow handles one stream.
func (s *session) follow(ctx context.Context, assignments *stream.Stream[enginev1.WatchAssignmentsResponse]) error {
	var guarding sync.WaitGroup
	defer guarding.Wait()
	// A stream that ended cleanly, at its age, leaves doubt too: the next one may have been held up for longer than the API waits.
	if s.failed.Swap(false) || s.doubtful() {
		s.fence.raise()
	}
	snapshot := make(chan struct{})
	guarding.Go(func() { s.guard(ctx, snapshot) })
	next, gathering := map[int64]uint32{}, true
	for message := range assignments.All() {
		if message.GetSentinel() == nil {
			s.handle(message, next, gathering)
		} else if gathering {
			gathering = false
			assignments.Complete()
			s.desired.replace(next)
			close(snapshot)
		}
	}
	return nil
}

// handle processes one message. An incomplete snapshot is collected in next, and changes apply to both states.
func (s *session) handle(message *enginev1.WatchAssignmentsResponse, next map[int64]uint32, gathering bool) {
	switch m := message.GetMessage().(type) {
	case *enginev1.WatchAssignmentsResponse_Live:
		for _, ref := range m.Live.GetRefs() {
			if s.owns(ref) {
				next[ref.GetUid()] = ref.GetPlacement()
			}
		}
	case *enginev1.WatchAssignmentsResponse_Assignment:
		if !s.owns(m.Assignment.GetRef()) {
			return
		}
		uid := m.Assignment.GetRef().GetUid()
		if gathering {
			next[uid] = m.Assignment.GetRef().GetPlacement()
		}
		s.desired.assign(m.Assignment)
		s.creations.Add(uid)
	case *enginev1.WatchAssignmentsResponse_Release:
		uid := m.Release.GetRef().GetUid()
		if gathering {
			delete(next, uid)
		}
		s.desired.release(uid)
		if s.doubtful() && s.mayRun(uid) {
			s.fence.give(uid)
		}
		s.removals.Add(uid)
	}
}

// owns reports whether an action is of the shard of the session. A runs service of the version before sends all.
func (s *session) owns(ref *enginev1.ActionRef) bool {
	return ident.RunOf(ref.GetId().GetRun()).In(s.shard)
}
