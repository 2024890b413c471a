package apps

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/apps/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const (
	// period is the length of the periods for which traffic is kept, keptTraffic how long. A row per app and period is
	// written, so 30 s bound the table to 120 rows per app.
	period      = 30 * time.Second
	keptTraffic = time.Hour
	// maxWindow bounds the time that a report covers. Gateways report every second; a longer window comes from one that
	// could not report for a while.
	maxWindow = time.Hour
	// maxBuckets is the number of buckets of latencies that a report may have. Gateways send one more than there are
	// bounds; the limit leaves room for newer ones.
	maxBuckets = 32
)

// ReportLoad implements enginev1connect.AppRouteServiceHandler.
func (h *handler) ReportLoad(ctx context.Context, r *enginev1.ReportLoadRequest) (*enginev1.ReportLoadResponse, error) {
	loads := make([]store.Reported, 0, len(r.GetApps()))
	for i, load := range r.GetApps() {
		at := fmt.Sprintf("apps[%d]", i)
		window := load.GetWindow().AsDuration()
		switch {
		case !load.GetWindow().IsValid() || window <= 0 || window > maxWindow:
			return nil, rpc.InvalidArgument(at+".window", "must be more than 0s and at most %s", maxWindow)
		// Written as a negation so that NaN is refused, which compares false with everything.
		case !(load.GetConcurrency() >= 0 && load.GetConcurrency() < math.MaxInt32):
			return nil, rpc.InvalidArgument(at+".concurrency", "must be a finite number that is not negative, got %v", load.GetConcurrency())
		case load.GetRequests() > math.MaxInt32 || load.GetErrors() > load.GetRequests():
			return nil, rpc.InvalidArgument(at+".requests", "must be at most %d and not less than errors", math.MaxInt32)
		case len(load.GetLatencyBuckets()) > maxBuckets:
			return nil, rpc.InvalidArgument(at+".latency_buckets", "at most %d, got %d", maxBuckets, len(load.GetLatencyBuckets()))
		}
		latency := make([]int64, len(load.GetLatencyBuckets()))
		for j, count := range load.GetLatencyBuckets() {
			// Clipped, so that the sums over a period do not overflow.
			latency[j] = int64(min(count, math.MaxInt32))
		}
		loads = append(loads, store.Reported{
			UID: load.GetUid(), Window: window, Requests: int64(load.GetRequests()), Errors: int64(load.GetErrors()), //nolint:gosec // checked
			Concurrency: load.GetConcurrency(), Rate: float64(load.GetRequests()) / window.Seconds(),
			Busy: load.GetRequests() > 0 || load.GetOpen() > 0 || load.GetConcurrency() > 0, Latency: latency,
		})
	}
	if len(loads) == 0 {
		return &enginev1.ReportLoadResponse{}, nil
	}
	// In one order for all gateways: two reports that lock the same rows in different orders would deadlock.
	slices.SortFunc(loads, func(a, b store.Reported) int { return strings.Compare(a.UID, b.UID) })
	now := h.clock.Now()
	return &enginev1.ReportLoadResponse{}, h.store.ReportLoad(ctx, r.GetGateway(), now, now.Truncate(period), loads)
}
