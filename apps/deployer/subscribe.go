package deployer

import (
	"context"
	"time"

	"connectrpc.com/connect"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
)

// subscribe follows the stream of apps until ctx ends.
func (s *session) subscribe(ctx context.Context) {
	apps := stream.Client[enginev1.WatchAppsResponse]{
		Open: func(ctx context.Context) (*connect.ServerStreamForClient[enginev1.WatchAppsResponse], error) {
			return s.fleet.WatchApps(ctx, &enginev1.WatchAppsRequest{
				Cluster: s.cluster, SharedNetwork: s.config.SharedNetwork, GivesPorts: s.config.GivesPorts,
			})
		},
		MaxSilence: s.config.MaxSilence, MaxAge: s.config.Resync, Backoff: s.config.Backoff, Clock: s.clock,
		Failed: func(err error, pause time.Duration) {
			s.logger.Warn().Err(err).Dur("pause", pause).Msg("app stream failed; subscribing again")
		},
	}
	apps.Follow(ctx, s.follow)
}

// follow handles one stream.
func (s *session) follow(ctx context.Context, apps *stream.Stream[enginev1.WatchAppsResponse]) error {
	s.reports.again()
	seen, gathering := map[string]bool{}, true
	for message := range apps.All() {
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
			if gathering {
				gathering = false
				apps.Complete()
				s.compare(ctx, s.desired.finish(seen))
			}
		}
	}
	return nil
}
