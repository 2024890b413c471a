package connectors

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/connectors/store"
)

// Examined is what a connector says when it is asked once.
type Examined struct {
	Name, URL string
	// Types are the types of tasks that it serves, in order.
	Types []string
	// Problem is why it does not answer; empty if it does.
	Problem string
}

// Examine asks all configured connectors which types they serve, for at most some time. The error is one of the configuration.
func Examine(ctx context.Context, config Config, within time.Duration) ([]Examined, error) {
	config.CallTimeout = within
	r := &registry{config: config}
	all := make([]Examined, len(config.Endpoints))
	var asked sync.WaitGroup
	for i, endpoint := range config.Endpoints {
		reached, err := dial(endpoint, config.MaxAnswer)
		if err != nil {
			return nil, err
		}
		asked.Go(func() {
			defer reached.close()
			all[i] = examined(r.ask(ctx, reached), endpoint.URL)
		})
	}
	asked.Wait()
	return all, nil
}

func examined(c store.Connector, url string) Examined {
	e := Examined{Name: c.Name, URL: url, Problem: c.Problem}
	for _, t := range c.Types {
		e.Types = append(e.Types, t.Name)
	}
	slices.Sort(e.Types)
	e.Types = slices.Compact(e.Types)
	return e
}
