package cacheservice

import (
	"context"

	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	cachev2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// handlerV2 serves keys of one project and domain. There is one organization, so its name makes no difference.
type handlerV2 struct{ svc *Service }

func scopeOf(id *cachev2.Identifier) (scope, error) {
	for field, text := range map[string]string{"identifier.project": id.GetProject(), "identifier.domain": id.GetDomain()} {
		if err := checkLength(field, text); err != nil {
			return scope{}, err
		}
	}
	return scope{project: id.GetProject(), domain: id.GetDomain(), prefix: "base_request."}, nil
}

// maxText is the longest key, owner or name in bytes.
const maxText = 512

func checkLength(field, text string) error {
	if text == "" || len(text) > maxText {
		return rpc.InvalidArgument(field, "must have 1 to %d bytes, has %d", maxText, len(text))
	}
	return nil
}

// Get implements v2connect.CacheServiceHandler.
func (h *handlerV2) Get(ctx context.Context, r *cachev2.GetCacheRequest) (*cachev1.GetCacheResponse, error) {
	in, err := scopeOf(r.GetIdentifier())
	if err != nil {
		return nil, err
	}
	return h.svc.get(ctx, in, r.GetBaseRequest())
}

// Put implements v2connect.CacheServiceHandler.
func (h *handlerV2) Put(ctx context.Context, r *cachev2.PutCacheRequest) (*cachev1.PutCacheResponse, error) {
	in, err := scopeOf(r.GetIdentifier())
	if err != nil {
		return nil, err
	}
	return h.svc.put(ctx, in, r.GetBaseRequest())
}

// Delete implements v2connect.CacheServiceHandler.
func (h *handlerV2) Delete(ctx context.Context, r *cachev2.DeleteCacheRequest) (*cachev1.DeleteCacheResponse, error) {
	in, err := scopeOf(r.GetIdentifier())
	if err != nil {
		return nil, err
	}
	return h.svc.remove(ctx, in, r.GetBaseRequest())
}

// GetOrExtendReservation implements v2connect.CacheServiceHandler.
func (h *handlerV2) GetOrExtendReservation(
	ctx context.Context, r *cachev2.GetOrExtendReservationRequest,
) (*cachev1.GetOrExtendReservationResponse, error) {
	in, err := scopeOf(r.GetIdentifier())
	if err != nil {
		return nil, err
	}
	return h.svc.reserve(ctx, in, r.GetBaseRequest())
}

// ReleaseReservation implements v2connect.CacheServiceHandler.
func (h *handlerV2) ReleaseReservation(
	ctx context.Context, r *cachev2.ReleaseReservationRequest,
) (*cachev1.ReleaseReservationResponse, error) {
	in, err := scopeOf(r.GetIdentifier())
	if err != nil {
		return nil, err
	}
	return h.svc.release(ctx, in, r.GetBaseRequest())
}
