package dataproxy

import (
	"context"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// job follows the log of a job of a connector. nil never comes: when the connector has no longer the job, the stored log has
// the rest.
func (t *tail) job(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := t.svc.deps.Jobs.TailJob(ctx, &enginev1.TailJobRequest{ActionId: t.action, Attempt: t.attempt})
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // nothing is written
	skip := t.delivered
	for stream.Receive() {
		lines := stream.Msg().GetLines()
		known := min(skip, len(lines))
		skip -= known
		if err := t.deliver(lines[known:]); err != nil {
			return err
		}
	}
	return stream.Err()
}
