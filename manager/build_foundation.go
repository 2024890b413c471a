package manager

import (
	"context"
	"fmt"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
	"github.com/flyte-binary/flyte-binary/manager/system"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// buildDatabase connects to Postgres and, where that is configured, migrates it.
func buildDatabase(ctx context.Context, p *process) (lifecycle.Part, error) {
	var options []pgdb.Option
	if p.telemetry.Exports {
		options = append(options, pgdb.WithTracer(p.telemetry.Tracer))
	}
	failover := pgdb.NewFailover(p.clock, p.log)
	pool, err := pgdb.Open(ctx, p.config.Database, append(options, pgdb.WithFailover(failover))...)
	if err != nil {
		return nil, diagnose.Database(p.config.Database, err)
	}
	p.pool = pool
	p.onClose(func(context.Context) error { pool.Close(); return nil })
	if p.config.Database.Migrate {
		if err := pgdb.Migrate(ctx, pool, Schemas()...); err != nil {
			return nil, diagnose.Migration(p.config.Database, err)
		}
	}
	if p.installation == "" {
		if p.installation, err = store.Installation(ctx, pool); err != nil {
			return nil, err
		}
	}
	replicas, err := pgdb.OpenReplicas(ctx, p.config.Database, pgdb.ReplicaDeps{
		Primary: pool, Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter,
	}, options...)
	if err != nil {
		return nil, fmt.Errorf("database.%w", err)
	}
	p.replicas = replicas
	p.onClose(func(context.Context) error { replicas.Close(); return nil })
	p.check("database", func(ctx context.Context) error {
		return diagnose.Schema(p.config.Database, pgdb.CheckSchema(ctx, pool, Schemas()...))
	})
	p.notices = pgdb.NewListener(pool, p.clock, p.log, nil) // services add their channels
	return lifecycle.NewGroup(
		lifecycle.Named{Name: "failover", Part: failover}, lifecycle.Named{Name: "read replicas", Part: replicas},
		lifecycle.Named{Name: "notifications", Part: p.notices},
	), nil
}

// buildStorage opens the object store.
func buildStorage(ctx context.Context, p *process) (lifecycle.Part, error) {
	blobs, err := blobstore.Open(ctx, p.config.Storage, blobstore.WithClock(p.clock))
	if err != nil {
		return nil, diagnose.Storage(p.config.Storage, err)
	}
	p.blobs = blobs
	p.onClose(func(context.Context) error { return blobs.Close() })
	p.check("storage", func(ctx context.Context) error { return diagnose.Storage(p.config.Storage, blobs.Ping(ctx)) })
	probe := &atMost{run: blobs.CheckWrite, every: p.config.Health.WriteProbe, clock: p.clock}
	p.degrades("storage writes", func(ctx context.Context) error { return diagnose.Storage(p.config.Storage, probe.check(ctx)) })
	p.degrades("disk", disk(p.config.Health, blobs.FreeBytes))
	return lifecycle.Idle{}, nil
}

// buildKubernetes finds the way to the API server. It makes no call: the API server may be unavailable.
func buildKubernetes(_ context.Context, p *process) (lifecycle.Part, error) {
	cluster, err := restConfig(p.config.Kubernetes, p.options.REST, p.pace, p.clock, p.log)
	if err != nil {
		return nil, err
	}
	p.cluster, p.owned = cluster, cluster
	p.check("kubernetes", func(ctx context.Context) error { return system.PingCluster(ctx, cluster) })
	p.degrades("kubernetes calls", func(context.Context) error { return p.pace.LastMinute().Err() })
	return lifecycle.Idle{}, nil
}

// buildElection divides the work on this cluster among the replicas. A single process does all of it.
func buildElection(_ context.Context, p *process) (lifecycle.Part, error) {
	if !p.config.Replicas.Several {
		return lifecycle.Idle{}, nil
	}
	election, err := p.config.Replicas.Leader(p.cluster, p.owner(), p.log, p.telemetry.Meter)
	if err != nil {
		return nil, err
	}
	p.leader, p.owned = election, election.Fenced(p.cluster)
	return election, nil
}
