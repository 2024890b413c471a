package demo

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/manager"
)

// startServer puts the product together as serve does; only what stands behind it is ours.
func (d *demo) startServer(ctx context.Context) error {
	config, err := d.serverConfig()
	if err != nil {
		return err
	}
	level, err := zerolog.ParseLevel(config.Logging.Level)
	if err != nil {
		return err
	}
	server, err := config.Complete(ctx, manager.Options{
		Logger: d.log.Level(level), Clock: d.clock, REST: d.cluster.RESTConfig(), Listener: d.listener,
	})
	if err != nil {
		return err
	}
	d.server = server
	return server.Start(ctx)
}

func (d *demo) serverConfig() (manager.Config, error) {
	signing, err := d.dir.Secret("signing-key")
	if err != nil {
		return manager.Config{}, err
	}
	internal, err := d.dir.Secret("internal-token")
	if err != nil {
		return manager.Config{}, err
	}
	// What the demo stands on comes last: neither the environment nor --set may point it elsewhere.
	overrides := append(append([]string{}, d.opts.Set...),
		"server.listen="+d.opts.Listen,
		"database.url="+d.postgres.DSN(),
		"storage.url=file://"+d.dir.Blobs(),
		"storage.publicURL="+d.url(),
		"storage.signingKey="+signing,
		"storage.sync=false", // as with etcd: the demo survives the death of processes, not of the machine
		"auth.internalToken="+internal,
	)
	config, err := manager.Load("", overrides)
	if err != nil {
		return manager.Config{}, err
	}
	return config, nil
}
