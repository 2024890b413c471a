package cachelink

import (
	"context"

	"connectrpc.com/connect"

	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	cachev2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Evict deletes the entries of keys that actions of a place use, and returns how many there were. Entries that all places share are among
// them only where sharing is allowed.
func (c *Cache) Evict(ctx context.Context, place schema.Scope, keys []string) (evicted int, err error) {
	if c.deps.Scoped == nil || c.deps.Global == nil {
		return 0, rpc.FailedPrecondition("this installation does not use the cache")
	}
	for _, text := range keys {
		scopes := []key{{place.Project, place.Domain, text}}
		if c.config.Shared {
			scopes = append(scopes, key{text: text})
		}
		for _, k := range scopes {
			existed, err := c.catalog.remove(ctx, k)
			if err != nil {
				return evicted, err
			}
			if existed {
				evicted++
			}
		}
	}
	return evicted, nil
}

// remove deletes an entry and reports whether there was one.
func (c *catalog) remove(ctx context.Context, k key) (existed bool, err error) {
	request := &cachev1.DeleteCacheRequest{Key: k.text}
	err = c.call(ctx, func(ctx context.Context) (err error) {
		if k.global() {
			_, err = c.global.Delete(ctx, request)
		} else {
			_, err = c.scoped.Delete(ctx, &cachev2.DeleteCacheRequest{Identifier: k.identifier(), BaseRequest: request})
		}
		return err
	})
	if connect.CodeOf(err) == connect.CodeNotFound {
		return false, nil
	}
	return err == nil, err
}
