package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
	"github.com/flyte-binary/flyte-binary/demo/operators"
	"github.com/flyte-binary/flyte-binary/demo/pyenv"
	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/obs/klogs"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/command"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// startServer starts the server as serve does, on the demo's own database, cluster and files.
func (d *demo) startServer(ctx context.Context) error {
	d.config.Database.URL = d.postgres.DSN()
	metrics := prometheus.NewRegistry()
	if err := metrics.Register(d.node.Starts()); err != nil {
		return fmt.Errorf("metrics of the node: %w", err)
	}
	node := d.nodeConfig()
	server, err := manager.Complete(ctx, d.config, manager.Options{
		Logger: d.log, LogLevel: d.level, Clock: d.clock, REST: d.cluster.RESTConfig(), Pace: d.pace, Listener: d.listener, Version: command.Version, Metrics: metrics,
		MachineParts: d.gpuParts, MachineNames: machineNames(), Images: machineImages{store: node.Made, node: node},
		Nodes: d.node,
		RunDeleted: func(_ context.Context, project, domain, run string) error {
			return d.node.RemoveRun(project, domain, run)
		},
	})
	if err != nil {
		return err
	}
	d.server = server
	return server.Start(ctx)
}

// configure reads the server's configuration before anything runs, so that mistakes show at once. Only the
// address of the database is not known yet.
func (d *demo) configure() error {
	signing, err := d.dir.Secret("signing-key")
	if err != nil {
		return err
	}
	internal, err := d.dir.Secret("internal-token")
	if err != nil {
		return err
	}
	d.givesPorts = shim.GivesPorts()
	config, err := configuration.Load("", slices.Concat(
		// Small defaults, since tasks share a laptop.
		[]string{"executor.pod.defaultCpu=250m", "executor.pod.defaultMemory=256Mi", "executor.pod.copilot.cpu=50m", "logging.format=json",
			"secrets.backends=local", "gateway.domain=localhost",
			// More than a laptop runs at once. The rest of a large fan-out waits in Postgres, and not as objects of an API server
			// that shares the cores with the tasks.
			"runs.admission.maxLive=500",
			// The node measures when it is asked, and most tasks of a laptop are short.
			"executor.measure.interval=2s", "executor.measure.report=4s"},
		d.signIn(),
		d.opts.Set,
		// The demo's own parts come last: neither the environment nor --set may replace them.
		[]string{
			"server.listen=" + d.opts.Listen,
			"database.url=postgres:///not-started-yet",
			"storage.url=file://" + d.dir.Blobs(),
			"storage.publicURL=" + d.url(),
			"storage.signingKey=" + signing,
			"storage.sync=false", // as with etcd: the demo survives process crashes, not a power cut
			"auth.internalToken=" + internal,
			"executor.pod.endpoint=" + d.authority(),
			"executor.pod.insecure=true",
			"deployer.sharedNetwork=true",
			"deployer.givesPorts=" + strconv.FormatBool(d.givesPorts),
			"executor.pod.copilot.image=" + ownImage,
			"secrets.local.directory=" + d.dir.SecretValues(),
			"secrets.local.keyFile=" + filepath.Join(d.dir.Secrets(), "secret-values-key"),
		},
	))
	if err != nil {
		return err
	}
	config.Executor.Pod.DefaultEnv = append(config.Executor.Pod.DefaultEnv,
		// Parents write the inputs of their children into directories that do not exist yet.
		`FSSPEC_FILE={"auto_mkdir": true}`,
		// Tasks treat the store as a remote one (demo/pyenv/library).
		pyenv.StoreVariable+"="+d.dir.Blobs(),
		// No telemetry leaves the machine.
		"FLYTE_DISABLE_SENTRY=1",
	)
	for _, name := range d.opts.With {
		if plugins := &config.Executor.Plugins; !slices.Contains(plugins.Enabled, name) {
			plugins.Enabled = append(slices.Clone(plugins.Enabled), name)
		}
		if one, has := operators.Dashboards()[name]; has {
			config.Executor.Pod.AddDashboard(one.Name, one.URI, one.Role)
		}
	}
	if len(config.Runs.Webhooks.Allow) == 0 {
		// People test webhooks with a server on their own machine.
		config.Runs.Webhooks.Allow = []string{"127.0.0.0/8", "::1/128"}
	}
	if len(config.Notifications.Allow) == 0 {
		config.Notifications.Allow = []string{"127.0.0.0/8", "::1/128"}
	}
	config.Runs.Images.Builder = d.imageBuilder()
	if config.Executor.Workers.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("find the program that workers run: %w", err)
	}
	if err := d.configureAccess(&config); err != nil {
		return err
	}
	d.config = config
	return nil
}

// openLog creates the loggers of the process. They write to one file.
func (d *demo) openLog() error {
	log, level, err := obs.NewAdjustableLogger(d.config.Logging, d.logFile)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	klogs.Install(log)
	d.log, d.level = log, level
	return nil
}
