package change

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/cachelink"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// Cache publishes the outputs of successes; cachelink.Cache does.
type Cache interface {
	// Publish returns one element for each success, in order.
	Publish(ctx context.Context, successes []cachelink.Success) ([]cachelink.Published, error)
}

// publish publishes the outputs of the successes among transitions, and sets their cache status there.
func publish(ctx context.Context, cache Cache, transitions []store.Transition) error {
	var successes []cachelink.Success
	var at []int
	for i := range transitions {
		if t := &transitions[i]; t.To.Phase == state.Succeeded {
			successes = append(successes, cachelink.Success{Action: t.Action, Attempt: t.To.Attempt, OutputURI: t.OutputURI, Reporter: t.Reporter})
			at = append(at, i)
		}
	}
	published, err := cache.Publish(ctx, successes)
	if err != nil {
		return err
	}
	for i, p := range published {
		if p.Status == core.CatalogCacheStatus_CACHE_DISABLED {
			continue
		}
		t := &transitions[at[i]]
		t.CacheStatus, t.CacheReason = int16(p.Status), p.Reason //nolint:gosec // an enum of few values
		if t.Event, err = withCacheStatus(t.Event, p.Status); err != nil {
			return err
		}
	}
	return nil
}

func withCacheStatus(body []byte, status core.CatalogCacheStatus) ([]byte, error) {
	if len(body) == 0 {
		return nil, nil
	}
	event := &workflow.ActionEvent{}
	err := proto.Unmarshal(body, event)
	if err == nil {
		event.CacheStatus = status
		body, err = proto.Marshal(event)
	}
	if err != nil {
		return nil, rpc.Internal(err, "the event cannot be encoded")
	}
	return body, nil
}
