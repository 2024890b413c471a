package taskactions

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// errSilent is the failure of a stream over which nothing came, not even heartbeats.
var errSilent = errors.New("no heartbeat")

// subscribe follows the stream of assignments until ctx ends. During an outage of the runs service, the last desired
// state stays in force.
func (s *session) subscribe(ctx context.Context) {
	retries := s.config.Backoff.New()
	for ctx.Err() == nil {
		snapshot, err := s.follow(ctx)
		if snapshot {
			retries.Reset()
		}
		pause := retries.Next()
		if err != nil && ctx.Err() == nil {
			s.logger.Warn().Err(err).Dur("pause", pause).Msg("the stream of assignments broke; subscribing again")
		}
		if clock.Sleep(ctx, s.clock, pause) != nil {
			return
		}
	}
}

// follow handles one stream until it ends or a comparison is due. It returns whether a whole snapshot came.
func (s *session) follow(ctx context.Context) (snapshot bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	messages, ended := s.receive(ctx)
	var comparing sync.WaitGroup
	defer comparing.Wait()
	defer func() {
		cancel()
		for range messages {
		}
	}()
	due := s.clock.NewTimer(s.config.Resync)
	defer due.Stop()
	next := map[int64]struct{}{}
	for {
		silence := s.clock.NewTimer(s.config.MaxSilence)
		select {
		case message, ok := <-messages:
			silence.Stop()
			if !ok {
				return snapshot, <-ended
			}
			if _, isSentinel := message.GetMessage().(*enginev1.WatchAssignmentsResponse_Sentinel); isSentinel {
				if !snapshot {
					snapshot = true
					s.desired.replace(next)
					comparing.Go(func() { s.compare(ctx) })
				}
				continue
			}
			s.handle(message, next, !snapshot)
		case <-silence.C():
			return snapshot, errSilent
		case <-due.C():
			silence.Stop()
			return snapshot, nil
		case <-ctx.Done():
			silence.Stop()
			return snapshot, ctx.Err()
		}
	}
}

// handle processes one message. An incomplete snapshot is collected in next, and changes apply to both states.
func (s *session) handle(message *enginev1.WatchAssignmentsResponse, next map[int64]struct{}, gathering bool) {
	switch m := message.GetMessage().(type) {
	case *enginev1.WatchAssignmentsResponse_Live:
		for _, ref := range m.Live.GetRefs() {
			if s.owns(ref) {
				next[ref.GetUid()] = struct{}{}
			}
		}
	case *enginev1.WatchAssignmentsResponse_Assignment:
		if !s.owns(m.Assignment.GetRef()) {
			return
		}
		uid := m.Assignment.GetRef().GetUid()
		if gathering {
			next[uid] = struct{}{}
		}
		s.desired.assign(m.Assignment)
		s.creations.Add(uid)
	case *enginev1.WatchAssignmentsResponse_Release:
		uid := m.Release.GetRef().GetUid()
		if gathering {
			delete(next, uid)
		}
		s.desired.release(uid)
		s.removals.Add(uid)
	}
}

// owns reports whether an action is of the shard of the session. A runs service of the version before sends all.
func (s *session) owns(ref *enginev1.ActionRef) bool {
	return ident.RunOf(ref.GetId().GetRun()).In(s.shard)
}

// receive reads the stream in the background. messages is closed at its end; then ended has the reason.
func (s *session) receive(ctx context.Context) (messages <-chan *enginev1.WatchAssignmentsResponse, ended <-chan error) {
	out, result := make(chan *enginev1.WatchAssignmentsResponse), make(chan error, 1)
	go func() {
		defer close(out)
		request := &enginev1.WatchAssignmentsRequest{Cluster: s.clusterID}
		if s.shard != ident.AllShards {
			request.Shard = proto.Uint32(uint32(s.shard)) //nolint:gosec // a small number
		}
		stream, err := s.engine.WatchAssignments(ctx, request)
		if err != nil {
			result <- err
			return
		}
		defer stream.Close() //nolint:errcheck // nothing is written
		for stream.Receive() {
			select {
			case out <- stream.Msg():
			case <-ctx.Done():
				result <- ctx.Err()
				return
			}
		}
		result <- stream.Err()
	}()
	return out, result
}
