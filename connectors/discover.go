package connectors

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/connectors/store"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/text/redact"
)

const (
	// maxTypes bounds the types of one connector.
	maxTypes = 1000
	// maxProblem is how much is kept of what is wrong with a connector or a job, in bytes.
	maxProblem = 1000
	// hastenWithin is over what time the jobs of a connector that answers again are looked at.
	hastenWithin = 5 * time.Second
	// askWithin bounds how long a connector may take to say what it can do. Until then, others that it serves, or its other
	// jobs, wait.
	askWithin = 5 * time.Second
	// maxTypeName is the longest name of a type, in bytes.
	maxTypeName = 200
	// abandonAtOnce is how many jobs of connectors that are gone are forgotten in one pass.
	abandonAtOnce = 100
)

// parseType reads TYPE or TYPE/VERSION.
func parseType(text string) (store.Type, error) {
	name, version, versioned := strings.Cut(text, "/")
	t := store.Type{Name: name}
	if versioned {
		n, err := strconv.ParseInt(version, 10, 32)
		if err != nil || n < 0 {
			return t, fmt.Errorf("%q is not a version", version)
		}
		t.Version = int32(n)
	}
	if name == "" {
		return t, fmt.Errorf("%q has no type", text)
	}
	return t, nil
}

// discover asks all connectors what they serve, and stores it. One that does not answer keeps what it said last.
func (s *registry) discover(ctx context.Context) error {
	said, err := s.store.Revisions(ctx)
	if err != nil {
		return err
	}
	ofApps, complete := s.fleet.ofApps()
	all := slices.Concat(s.fleet.configured, ofApps)
	known := make([]store.Connector, len(all))
	var asked sync.WaitGroup
	for i, r := range all {
		asked.Go(func() { known[i] = s.examine(ctx, r, said[r.Name]) })
	}
	asked.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	keep := ""
	if !complete {
		keep = appPrefix
	}
	if err := s.store.Register(ctx, known, keep); err != nil {
		return err
	}
	if err := s.store.AbandonLogs(ctx, s.config.DeleteFor); err != nil {
		return err
	}
	abandoned, err := s.store.Abandon(ctx, s.config.DeleteFor, abandonAtOnce)
	if err != nil {
		return err
	}
	for _, job := range abandoned {
		zerolog.Ctx(ctx).Error().Str("job", job).Msg("giving up the deletion of a job: its connector is no longer configured; it may still run")
	}
	for _, name := range s.recovered(ctx, known) {
		if err := s.store.Hasten(ctx, name, hastenWithin); err != nil {
			return err
		}
	}
	return nil
}

// examine asks a connector what it serves. An app is asked once for each revision, since questions would keep it awake.
func (s *registry) examine(ctx context.Context, r *remote, said uint64) store.Connector {
	if r.app == nil {
		return s.ask(ctx, r)
	}
	c := store.Connector{Name: r.Name}
	switch {
	case r.unreachable() != "":
		c.Problem = clip.Middle(r.unreachable(), maxProblem)
	case r.app.GetRevision() == 0:
		c.Problem = "the app has not started yet"
	case r.app.GetRevision() == said:
	default:
		if c = s.ask(ctx, r); c.Problem == "" {
			c.Revision = r.app.GetRevision()
		}
	}
	c.Project, c.Domain = r.scope()
	return c
}

func (s *registry) ask(ctx context.Context, r *remote) store.Connector {
	ctx, cancel := context.WithTimeout(ctx, min(askWithin, s.config.CallTimeout))
	defer cancel()
	c := store.Connector{Name: r.Name}
	for _, text := range r.TaskTypes {
		if t, err := parseType(text); err == nil {
			c.Types = append(c.Types, t)
		}
	}
	answer, err := r.metadata.ListConnectors(ctx, &connectorv2.ListConnectorsRequest{})
	if err != nil {
		c.Problem = r.hidden(nil).Text(clip.Middle(redact.Tokens(said(err)), maxProblem))
		return c
	}
	for _, one := range answer.GetConnectors() {
		for _, category := range one.GetSupportedTaskCategories() {
			t := store.Type{Name: category.GetName(), Version: category.GetVersion()}
			if t.Name != "" && clip.Head(t.Name, maxTypeName) == t.Name && !slices.Contains(c.Types, t) && len(c.Types) < maxTypes {
				c.Types = append(c.Types, t)
			}
		}
	}
	if c.Types == nil {
		c.Types = []store.Type{}
	}
	return c
}

// recovered lists the connectors that answer after they did not. It logs both.
func (s *registry) recovered(ctx context.Context, known []store.Connector) (names []string) {
	for _, c := range known {
		is, was := c.Problem != "", s.trouble[c.Name]
		s.trouble[c.Name] = is
		switch {
		case is && !was:
			zerolog.Ctx(ctx).Warn().Str("problem", c.Problem).Str("connector", c.Name).Msg("a connector does not say which tasks it serves; asking again")
		case was && !is:
			zerolog.Ctx(ctx).Info().Str("connector", c.Name).Msg("the connector answers again")
			names = append(names, c.Name)
		}
	}
	return names
}
