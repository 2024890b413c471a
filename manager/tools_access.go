package manager

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/clusters"
	"github.com/flyte-binary/flyte-binary/clusters/states"
	clusterstore "github.com/flyte-binary/flyte-binary/clusters/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/clusterwork"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	runstore "github.com/flyte-binary/flyte-binary/runs/store"
)

// OpenAccess opens the tools of access control, which use the database alone and are safe alongside running servers. close must be
// called.
func OpenAccess(ctx context.Context, c configuration.Config, log zerolog.Logger) (tools *access.Tools, closing func(), err error) {
	tools, pool, err := openTools(ctx, c, log)
	if err != nil {
		return nil, nil, err
	}
	return tools, pool.Close, nil
}

// ClusterTools are the registry of clusters for the command line. What it changes is recorded.
type ClusterTools struct {
	Registry *clusters.Registry
	States   *states.Reader
	Access   *access.Tools
	// Installation is the id of the installation, which its controllers have in replicas.installation.
	Installation string
	// Stores are the prefixes of runs.placement.stores that a cluster with these labels reaches; nil if there are none at all.
	Stores func(name string, labels map[string]string) []string
}

// OpenClusters opens the registry of clusters, in the same way.
func OpenClusters(ctx context.Context, c configuration.Config, log zerolog.Logger) (tools ClusterTools, closing func(), err error) {
	recorded, pool, err := openTools(ctx, c, log)
	if err != nil {
		return ClusterTools{}, nil, err
	}
	installation := c.Replicas.Installation
	if installation == "" {
		if installation, err = runstore.Installation(ctx, pool); err != nil {
			pool.Close()
			return ClusterTools{}, nil, err
		}
	}
	rows := clusterstore.New(pool)
	var stores func(string, map[string]string) []string
	if len(c.Runs.Placement.Stores) > 0 {
		stores = placement.New(c.Runs.Placement).Stores
	}
	return ClusterTools{
		Installation: installation, Stores: stores,
		Registry: clusters.NewRegistry(rows, clusterwork.New(pool), clock.System{}), States: states.NewReader(rows, clock.System{}.Now), Access: recorded,
	}, pool.Close, nil
}

func openTools(ctx context.Context, c configuration.Config, log zerolog.Logger) (*access.Tools, *pgxpool.Pool, error) {
	if err := c.Database.Validate(); err != nil {
		return nil, nil, &configuration.ConfigError{Cause: fmt.Errorf("database.%w", err)}
	}
	if c.Access.PublicURL == "" {
		c.Access.PublicURL = c.Storage.PublicURL
	}
	pool, err := pgdb.Open(ctx, c.Database)
	if err != nil {
		return nil, nil, diagnose.Database(c.Database, err)
	}
	tools, err := access.NewTools(c.Access, pool, log)
	if err != nil {
		pool.Close()
		return nil, nil, &configuration.ConfigError{Cause: err}
	}
	return tools, pool, nil
}
