package cachelink

import (
	"context"

	"google.golang.org/protobuf/types/known/durationpb"

	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// Success is an attempt that is about to be recorded as succeeded.
type Success struct {
	Action ident.Action
	// Attempt counts from 1; 0 means the current attempt.
	Attempt int32
	// OutputURI is the directory of its outputs; empty means that of the attempt.
	OutputURI string
	// Reporter is the cluster whose controller reports it; empty for a service of the installation. A controller publishes the outputs of
	// what runs on its cluster and nothing else.
	Reporter string
}

// Published is the result of publishing the outputs of a success. It is zero when the cache is not involved.
type Published struct {
	Status core.CatalogCacheStatus
	Reason string
}

// Publish stores the outputs of successes in the cache and returns a result for each, in order. It is called before a
// success is recorded: if the process dies in between, the success is reported again and stores the same outputs
// again, which changes nothing. After an error the caller must not record any of the successes.
func (c *Cache) Publish(ctx context.Context, successes []Success) ([]Published, error) {
	published := make([]Published, len(successes))
	if len(successes) == 0 || !c.On() {
		return published, nil
	}
	names := make([]ident.Action, len(successes))
	at := make(map[ident.Action]int, len(successes))
	for i := range successes {
		names[i], at[successes[i].Action] = successes[i].Action, i
	}
	found, err := c.deps.Reader.Publishable(ctx, names)
	if err != nil || len(found) == 0 {
		return published, err
	}
	wishes, err := c.wishes.of(ctx, found)
	if err != nil {
		return nil, err
	}
	places := make([]int, len(found))
	for i := range found {
		places[i] = i
	}
	err = each(places, c.config.Concurrency, func(i int) error {
		to := at[found[i].Ident()]
		if reporter := successes[to].Reporter; reporter != "" && reporter != found[i].Cluster {
			return nil // the success is refused, too
		}
		if attempt := successes[to].Attempt; attempt != 0 && attempt < found[i].Attempt {
			return nil // the success is stale, too
		}
		published[to] = c.publish(ctx, &found[i], wishes[i], successes[to])
		return ctx.Err() // nothing is known then
	})
	return published, err
}

func (c *Cache) publish(ctx context.Context, a *worklists.Cacheable, wish Wish, success Success) Published {
	attempt := success.Attempt
	if attempt == 0 {
		attempt = a.Attempt
	}
	uri := success.OutputURI
	if uri != "" && !blobpath.Within(a.RunOutputBase, uri) {
		return Published{Status: core.CatalogCacheStatus_CACHE_PUT_FAILURE, Reason: join(a.CacheReason, "the outputs are not in the directory of the run")}
	}
	if uri == "" {
		uri = blobpath.AttemptDir(a.RunOutputBase, a.Name, uint32(attempt)) //nolint:gosec // from 1
	}
	metadata := metadataOf(a.Ident(), attempt, &core.Identifier{
		ResourceType: core.ResourceType_TASK, Project: a.TaskProject, Domain: a.TaskDomain, Name: a.TaskName, Version: a.TaskVersion,
	})
	overwrite := &cachev1.OverwriteOutput{Overwrite: wish.Overwrite}
	if wish.MaxAge > 0 {
		overwrite.MaxAge = durationpb.New(wish.MaxAge)
	}
	k := keyOf(a, wish)
	err := c.catalog.put(ctx, k, uri, metadata, overwrite)
	if err != nil && rpc.KindOf(err) == rpc.KindFailedPrecondition && !wish.Outputs {
		// A task without outputs may not have written the file that an entry refers to.
		if err = c.deps.Blobs.WriteAll(ctx, blobpath.OutputsPath(uri), nil); err == nil {
			err = c.catalog.put(ctx, k, uri, metadata, overwrite)
		}
	}
	switch {
	case err == nil:
		return Published{Status: core.CatalogCacheStatus_CACHE_POPULATED, Reason: a.CacheReason}
	case rpc.KindOf(err) == rpc.KindAlreadyExists:
		return Published{Status: core.CatalogCacheStatus_CACHE_POPULATED, Reason: join(a.CacheReason, "another action had published its outputs first")}
	default:
		c.deps.Logger.Warn().Err(err).Stringer("action", a.Ident()).Msg("publishing outputs to the cache failed")
		return Published{Status: core.CatalogCacheStatus_CACHE_PUT_FAILURE, Reason: join(a.CacheReason, "publishing failed: "+message(err))}
	}
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
