package job

import (
	"context"
	"errors"

	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// Remove implements plugin.Plugin. It deletes the Job, then a pod whose process still runs.
func (p *Plugin) Remove(ctx context.Context, attempt *plugin.Attempt) error {
	pods, err := p.pods.Cached(ctx, attempt)
	if failed := p.Keeper.Remove(ctx, attempt); failed != nil {
		return errors.Join(err, failed) // The Job goes first: deleting its pod would look like a failure.
	}
	return errors.Join(err, p.pods.Stop(ctx, pods, p.config.StopOptions(podspec.Uploads(attempt.Template))...))
}
