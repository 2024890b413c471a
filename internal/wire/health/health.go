// Package health serves grpc.health.v1.Health in every protocol.
package health

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// name is that of the service.
const name = "grpc.health.v1.Health"

// interval is how often a health watch looks for a change.
const interval = 5 * time.Second

// Service answers grpc.health.v1.Health in every protocol.
type Service struct {
	// Ready returns nil while the process can do its work.
	Ready func(context.Context) error
	// Serves reports whether a service is mounted.
	Serves func(service string) bool
	// Clock paces Watch.
	Clock clock.Clock
}

// Mount serves the two procedures.
func (h Service) Mount(r rpc.Registrar) {
	mux := http.NewServeMux()
	options := r.Options()
	const check, watch = "/" + name + "/Check", "/" + name + "/Watch"
	mux.Handle(check, connect.NewUnaryHandlerSimple(check, h.check, options...))
	mux.Handle(watch, connect.NewServerStreamHandlerSimple(watch, h.watch, options...))
	r.Handle("/"+name+"/", mux)
}

func (h Service) check(
	ctx context.Context, request *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	if service := request.GetService(); service != "" && !h.Serves(service) {
		return nil, rpc.NotFound("service %s is not served here", service)
	}
	return &grpc_health_v1.HealthCheckResponse{Status: h.status(ctx)}, nil
}

func (h Service) watch(
	ctx context.Context, request *grpc_health_v1.HealthCheckRequest,
	stream *connect.ServerStream[grpc_health_v1.HealthCheckResponse],
) error {
	last := grpc_health_v1.HealthCheckResponse_UNKNOWN
	for {
		now := grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN
		if service := request.GetService(); service == "" || h.Serves(service) {
			now = h.status(ctx)
		}
		if now != last {
			if err := stream.Send(&grpc_health_v1.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			last = now
		}
		timer := h.Clock.NewTimer(interval)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

func (h Service) status(ctx context.Context) grpc_health_v1.HealthCheckResponse_ServingStatus {
	if h.Ready(ctx) != nil {
		return grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	return grpc_health_v1.HealthCheckResponse_SERVING
}
