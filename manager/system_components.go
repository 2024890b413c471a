package manager

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/durationpb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/runs"
)

// components runs the checks of /readyz, all at once, and times them.
func (s *system) components(ctx context.Context) []*insightv1.Component {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	found := make([]*insightv1.Component, len(s.checks))
	var group errgroup.Group
	for i, one := range s.checks {
		group.Go(func() error {
			component := &insightv1.Component{Name: one.name, Healthy: true}
			began := s.clock.Now()
			err := one.run(ctx)
			if one.name == "database" && err == nil { // the check runs several queries
				began = s.clock.Now()
				err = s.pool.Ping(ctx)
			}
			component.Latency = durationpb.New(s.clock.Now().Sub(began))
			if err != nil {
				component.Healthy, component.Message = false, err.Error()
			}
			found[i] = component
			return nil
		})
	}
	_ = group.Wait() // nothing above fails
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
