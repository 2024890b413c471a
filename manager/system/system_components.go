package system

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/runs"
)

// components runs the checks of /readyz.
func (s *System) components(ctx context.Context) []*insightv1.Component {
	results := s.Checks().Run(ctx, s.Clock)
	found := make([]*insightv1.Component, len(results))
	for i, one := range results {
		if one.Name == "database" && one.Err == nil { // the check runs several queries
			began := s.Clock.Now()
			one.Err = s.Pool.Ping(ctx)
			one.took = s.Clock.Now().Sub(began)
		}
		component := &insightv1.Component{Name: one.Name, Healthy: true, Latency: durationpb.New(one.took)}
		if one.Err != nil {
			component.Healthy, component.Degraded, component.Message = one.Soft, one.Soft, one.Err.Error()
		}
		if one.Soft {
			component.Latency = nil // it is not asked over a connection
		}
		found[i] = component
	}
	return found
}

// loopComponents reports, for each loop that runs once per installation, whether a process runs it.
func loopComponents(loops []runs.LoopVitals) []*insightv1.Component {
	components := make([]*insightv1.Component, len(loops))
	for i, loop := range loops {
		component := &insightv1.Component{Name: "loop: " + loop.Name, Healthy: loop.Held}
		switch {
		case loop.Here:
			component.Message = "leader: this process"
		case loop.Held:
			component.Message = "leader: another process"
		case loop.Until.IsZero():
			component.Message = "no leader yet"
		default:
			component.Message = fmt.Sprintf("no leader since %s", loop.Until.UTC().Format(time.RFC3339))
		}
		components[i] = component
	}
	return components
}
