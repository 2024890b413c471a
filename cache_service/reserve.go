package cacheservice

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// reserve claims a key for an owner, extends the owner's reservation, or returns the reservation of the current
// owner. The last is not an error: the caller compares owners.
func (s *Service) reserve(
	ctx context.Context, in scope, r *cachev1.GetOrExtendReservationRequest,
) (*cachev1.GetOrExtendReservationResponse, error) {
	key, err := in.key(r.GetKey())
	if err != nil {
		return nil, err
	}
	if err := checkLength(in.prefix+"owner_id", r.GetOwnerId()); err != nil {
		return nil, err
	}
	heartbeat := s.config.MaxHeartbeat
	if asked := r.GetHeartbeatInterval(); asked != nil {
		if asked.CheckValid() != nil || asked.AsDuration() < 0 {
			return nil, rpc.InvalidArgument(in.prefix+"heartbeat_interval", "must be a duration that is not negative")
		}
		if asked.AsDuration() > 0 {
			heartbeat = min(heartbeat, asked.AsDuration())
		}
	}
	held, err := s.store.Reserve(ctx, key, r.GetOwnerId(), heartbeat, heartbeat*time.Duration(s.config.HeartbeatGrace))
	if err != nil {
		return nil, err
	}
	return &cachev1.GetOrExtendReservationResponse{Reservation: &cachev1.Reservation{
		Key: r.GetKey(), OwnerId: held.Owner,
		HeartbeatInterval: durationpb.New(held.Heartbeat), ExpiresAt: timestamppb.New(held.ExpiresAt),
	}}, nil
}

// release releases the owner's reservation. It does nothing when the owner has none.
func (s *Service) release(
	ctx context.Context, in scope, r *cachev1.ReleaseReservationRequest,
) (*cachev1.ReleaseReservationResponse, error) {
	key, err := in.key(r.GetKey())
	if err != nil {
		return nil, err
	}
	if err := checkLength(in.prefix+"owner_id", r.GetOwnerId()); err != nil {
		return nil, err
	}
	if err := s.store.Release(ctx, key, r.GetOwnerId()); err != nil {
		return nil, err
	}
	return &cachev1.ReleaseReservationResponse{}, nil
}
