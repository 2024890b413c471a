package deployer

import (
	"context"
	"errors"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// errSilent is the failure of a stream over which nothing came, not even heartbeats.
var errSilent = errors.New("no heartbeat")

// subscribe follows the stream of apps until ctx ends.
func (s *session) subscribe(ctx context.Context) {
	retries := s.config.Backoff.New()
	for ctx.Err() == nil {
		snapshot, err := s.follow(ctx)
		if snapshot {
			retries.Reset()
		}
		pause := retries.Next()
		if err != nil && ctx.Err() == nil {
			s.logger.Warn().Err(err).Dur("pause", pause).Msg("the stream of apps broke; subscribing again")
		}
		if clock.Sleep(ctx, s.clock, pause) != nil {
			return
		}
	}
}

// follow handles one stream until it ends or a comparison is due. It returns whether a whole snapshot came.
func (s *session) follow(ctx context.Context) (snapshot bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	s.reports.again()
	messages, ended := s.receive(ctx)
	defer func() {
		cancel()
		for range messages {
		}
	}()
	due := s.clock.NewTimer(s.config.Resync)
	defer due.Stop()
	silence := s.clock.NewTimer(s.config.MaxSilence)
	defer silence.Stop()
	seen := map[string]bool{}
	for {
		select {
		case message, ok := <-messages:
			if !ok {
				return snapshot, <-ended
			}
			silence.Reset(s.config.MaxSilence)
			s.heard.Store(s.clock.Now().UnixNano())
			switch m := message.GetMessage().(type) {
			case *enginev1.WatchAppsResponse_App:
				uid := v1.LabelValue(m.App.GetUid())
				seen[uid] = true
				s.desired.set(uid, m.App)
				s.queue.Add(uid)
			case *enginev1.WatchAppsResponse_Removed:
				uid := v1.LabelValue(m.Removed.GetUid())
				delete(seen, uid)
				s.desired.remove(uid)
				s.queue.Add(uid)
			case *enginev1.WatchAppsResponse_Sentinel:
				if !snapshot {
					snapshot = true
					s.compare(ctx, s.desired.finish(seen))
				}
			}
		case <-silence.C():
			return snapshot, errSilent
		case <-due.C():
			return snapshot, nil
		case <-ctx.Done():
			return snapshot, ctx.Err()
		}
	}
}

// receive reads the stream in the background. messages is closed at its end; then ended has the reason.
func (s *session) receive(ctx context.Context) (messages <-chan *enginev1.WatchAppsResponse, ended <-chan error) {
	out, result := make(chan *enginev1.WatchAppsResponse), make(chan error, 1)
	go func() {
		defer close(out)
		stream, err := s.fleet.WatchApps(ctx, &enginev1.WatchAppsRequest{
			Cluster: s.cluster, SharedNetwork: s.config.SharedNetwork, GivesPorts: s.config.GivesPorts,
		})
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
