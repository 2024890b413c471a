package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/flyte-binary/flyte-binary/demo/datadir"
	"github.com/flyte-binary/flyte-binary/demo/kube"
	"github.com/flyte-binary/flyte-binary/demo/node"
	"github.com/flyte-binary/flyte-binary/demo/node/devices"
	"github.com/flyte-binary/flyte-binary/demo/node/pki"
	"github.com/flyte-binary/flyte-binary/demo/operators"
	"github.com/flyte-binary/flyte-binary/demo/postgres"
	"github.com/flyte-binary/flyte-binary/demo/pyenv"
	"github.com/flyte-binary/flyte-binary/demo/terminal"
	"github.com/flyte-binary/flyte-binary/internal/kube/apipace"
	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// stopLimit bounds the orderly stop of one part.
const stopLimit = 20 * time.Second

// demo is one running demo.
type demo struct {
	opts     Options
	dir      *datadir.Dir
	listener net.Listener
	host     string // by which clients and links name the listener
	clock    clock.Clock
	config   configuration.Config
	logFile  *os.File
	log      zerolog.Logger
	level    *obs.Level
	screen   *terminal.Terminal
	// gpus are those that tasks may request, and gpuTools says how busy they are; nil for no tools.
	gpus     []devices.Device
	gpuTools devices.Run
	// givesPorts says that every replica of an app can have a port of its own.
	givesPorts bool

	postgres *pgembed.Server
	cluster  *kube.Cluster
	pace     *apipace.Meter // of the calls of node and server to the cluster
	node     *node.Node
	clusters *operators.Operators // nil for none
	server   *manager.Server
}

// run starts everything, waits until the context ends, and stops everything.
func run(ctx context.Context, opts Options, out io.Writer) (failure error) {
	if err := leaveShell(); err != nil {
		return err
	}
	if err := opts.checkClusters(); err != nil {
		return err
	}
	d := &demo{opts: opts, clock: clock.System{}, screen: terminal.New(out, clock.System{}), pace: apipace.NewMeter(clock.System{})}
	began := d.clock.Now()
	closeFiles, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, closeFiles()) }()
	d.screen.Line("flyte-binary demo, data in %s", d.dir.Root())
	if env := d.opts.python; !env.Own {
		if err := pyenv.Check(env.Dir); err != nil {
			return err
		}
	}
	defer func() { failure = errors.Join(failure, d.stop(ctx)) }()
	if err := d.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // interrupted while starting
		}
		return err
	}
	if err := errors.Join(d.writeClientConfig(), d.writeToolsConfig()); err != nil {
		return err
	}
	d.announce(d.clock.Now().Sub(began))
	if opts.sample != "" {
		d.runSample(ctx)
	}
	d.keepCertificate(ctx)
	<-ctx.Done()
	return nil
}

// open acquires what another process may hold, before anything starts: the directory, the port and the log.
func (d *demo) open(ctx context.Context) (func() error, error) {
	var err error
	if d.opts.Ephemeral {
		d.dir, err = datadir.OpenTemporary()
	} else {
		d.dir, err = datadir.Open(d.opts.DataDir)
	}
	if err != nil {
		return nil, err
	}
	if err := d.dir.HasRoom(); err != nil {
		return nil, errors.Join(err, d.dir.Close())
	}
	if d.listener, err = listen(ctx, d.opts.Listen); err != nil {
		return nil, errors.Join(err, d.dir.Close())
	}
	wanted, _, _ := net.SplitHostPort(d.opts.Listen)
	d.host = hostFor(wanted, d.listener.Addr().(*net.TCPAddr).IP, lookup(ctx)) //nolint:forcetypeassert // a TCP listener has no other
	if err := d.openFiles(); err != nil {
		return nil, errors.Join(err, d.listener.Close(), d.dir.Close())
	}
	return func() error {
		_ = d.listener.Close() // the server has closed it already when it ran
		return errors.Join(d.logFile.Close(), d.dir.Close())
	}, nil
}

func (d *demo) openFiles() error {
	if err := d.configure(); err != nil {
		return err
	}
	path, err := d.dir.LogFile("server")
	if err != nil {
		return err
	}
	if d.logFile, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	return d.openLog()
}

// preparePython creates the demo's own environment, which takes a while.
func (d *demo) preparePython(ctx context.Context) error {
	env := d.opts.python
	if !env.Own || pyenv.Check(env.Dir) == nil {
		return nil
	}
	d.screen.Line("Preparing Python in %s (once; needs the network) ...", env.Dir)
	return d.screen.Step("python", "", func() error {
		return pyenv.Ensure(ctx, env.Dir, d.screen, d.clock, d.waiting)
	})
}

// start starts the parts: the database in parallel with the API server and its node, then the server. What is only required
// on the first start, Python for tasks, is prepared meanwhile.
func (d *demo) start(ctx context.Context) error {
	programs, err := postgres.Choose(ctx, postgres.Choice{Wanted: d.opts.Postgres, DataDir: d.dir.Postgres(), Home: d.opts.home})
	if err != nil {
		return err
	}
	if err := d.build(programs); err != nil {
		return err
	}
	group, starting := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := d.preparePython(starting); err != nil {
			return err
		}
		d.cleanClientCache(starting)
		return nil
	})
	group.Go(func() error {
		return d.screen.Step("postgres", programs.Origin, func() error { return d.notStarted("database", d.postgres.Start(starting)) })
	})
	group.Go(func() error {
		if err := d.screen.Step("kubernetes", "", func() error { return d.notStarted("API server", d.cluster.Start(starting)) }); err != nil {
			return err
		}
		if err := d.startOperators(starting); err != nil {
			return err
		}
		return d.startNode(starting)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return d.screen.Step("server", "", func() error { return d.startServer(ctx) })
}

// build creates the children, which do not depend on each other.
func (d *demo) build(programs postgres.Programs) error {
	certificates, err := pki.EnsureCertificates(d.certificates(), nodeAddress, d.clock)
	if err != nil {
		return err
	}
	kubeLog, err := d.dir.LogFile("kubernetes")
	if err != nil {
		return err
	}
	d.cluster, err = kube.New(kube.Config{
		Dir: d.dir.Kubernetes(), LogFile: kubeLog, Waiting: d.waiting, Profiling: d.opts.profileKubernetes,
		Kubelet: kube.KubeletAccess{
			Authority: certificates.Authority, ClientCertificate: certificates.ClientCertificate, ClientKey: certificates.ClientKey,
		},
	}, d.log)
	if err != nil {
		return err
	}
	d.postgres, err = pgembed.New(pgembed.Config{
		DataDir: d.dir.Postgres(), BinDir: programs.BinDir, Ephemeral: d.opts.Ephemeral, Restart: true, Clock: d.clock, Waiting: d.waiting,
		Log:    d.log.With().Str("child", "postgres").Logger(),
		OnExit: func(err error) { d.log.Error().Err(err).Msg("postgres exited; restarting") },
	})
	return err
}

// waiting tells what takes long.
func (d *demo) waiting(text string) { d.screen.Line("  waiting for %s", text) }

// stop stops the parts in reverse order of their dependencies.
func (d *demo) stop(ctx context.Context) error {
	d.screen.Line("Stopping ...")
	var failures []error
	stop := func(name string, part lifecycle.Part) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		if err := part.Stop(ctx); err != nil {
			failures = append(failures, fmt.Errorf("stop %s: %w", name, err))
		}
	}
	if d.server != nil {
		stop("server", d.server)
	}
	if d.node != nil {
		stop("node", d.node)
		d.announceStarts()
	}
	if d.clusters != nil {
		stop("operators", d.clusters)
	}
	if d.cluster != nil {
		stop("kubernetes", d.cluster)
	}
	if d.postgres != nil {
		stop("postgres", d.postgres)
	}
	d.screen.Line("Stopped.")
	return errors.Join(failures...)
}

func (d *demo) announce(took time.Duration) {
	d.screen.Line("Ready in %.1fs: %s", took.Seconds(), d.url())
	if d.config.Access.Open {
		d.screen.Line("  Everyone who reaches %s can run code here: the demo has no authentication.", d.listener.Addr())
	}
	d.announceAccess()
	d.screen.Line("  clients     flyte --config %s ...", d.clientConfig())
	d.screen.Line("  kubectl     --kubeconfig %s", d.cluster.Kubeconfig())
	d.screen.Line("  logs        %s", d.dir.Logs())
	d.screen.Line("  Ctrl-C stops everything; the data is kept.")
}
