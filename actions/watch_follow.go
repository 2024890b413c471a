package actions

import (
	"context"

	"connectrpc.com/connect"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
)

// watch is one stream of a client, over any number of streams of the runs service.
type watch struct {
	svc    *Service
	parent *common.ActionIdentifier
	send   func(*actions.WatchForUpdatesResponse) error

	sendFailure error // the client's end is broken
}

// children is the stream of the runs service.
func (w *watch) children() stream.Client[enginev1.WatchChildrenResponse] {
	return stream.Client[enginev1.WatchChildrenResponse]{
		Open: func(ctx context.Context) (*connect.ServerStreamForClient[enginev1.WatchChildrenResponse], error) {
			return w.svc.engine.WatchChildren(ctx, &enginev1.WatchChildrenRequest{Parent: w.parent})
		},
		MaxSilence: w.svc.config.Watch.MaxSilence, Clock: w.svc.clock,
	}
}

// follow passes on one stream of the runs service until it ends.
func (w *watch) follow(_ context.Context, children *stream.Stream[enginev1.WatchChildrenResponse]) error {
	for m := range children.All() {
		children.Complete() // any message is a contact
		if m.GetMessage().GetMessage() == nil {
			continue // a client would take an empty message for an action
		}
		if w.sendFailure = w.send(m.GetMessage()); w.sendFailure != nil {
			return w.sendFailure
		}
	}
	return nil
}
