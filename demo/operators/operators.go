package operators

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/rs/zerolog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controlled "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flyte-binary/flyte-binary/internal/obs/klogs"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Config says what runs.
type Config struct {
	// Kinds are the names of operators, of Names.
	Kinds []string
	// PrivateFiles says that a volume at a path is seen by its pod only.
	PrivateFiles bool
	// LongPaths says that the temporary directories of containers have names that are too long for sockets in them.
	LongPaths bool
}

// Names are the operators that there are. They are those of the plugins that need them.
func Names() []string {
	var names []string
	for _, one := range all(Config{}, nil) {
		names = append(names, one.name)
	}
	slices.Sort(names)
	return slices.Compact(names) // one may keep several kinds
}

// all describes every operator.
func all(config Config, network network) []operator {
	return []operator{jobSets(), rayClusters(network, config), rayJobs(network, config), daskJobs(network), pyTorchJobs()}
}

// Operators runs the chosen operators between its start and its stop.
type Operators struct {
	lifecycle.Background

	config  Config
	network network
	rest    *rest.Config
	log     zerolog.Logger
	clk     clock.Clock
}

// New returns operators that do nothing before Start.
func New(config Config, cluster *rest.Config, log zerolog.Logger, clk clock.Clock) *Operators {
	return &Operators{config: config, network: machine{}, rest: rest.CopyConfig(cluster), log: log.With().Str("part", "operators").Logger(), clk: clk}
}

// Start implements lifecycle.Part. When it returns, the cluster serves the operators' kinds.
func (o *Operators) Start(ctx context.Context) error {
	var chosen []operator
	for _, one := range all(o.config, o.network) {
		if slices.Contains(o.config.Kinds, one.name) {
			chosen = append(chosen, one)
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	for _, one := range chosen {
		if err := define(ctx, o.rest, one); err != nil {
			return err
		}
	}
	return o.Run(ctx, func(ctx context.Context) { o.keep(ctx, chosen) })
}

// restartPause is the pause before a manager that stopped is replaced.
const restartPause = time.Second

// keep runs one manager after the other. One stops when it cannot reach the API server.
func (o *Operators) keep(ctx context.Context, chosen []operator) {
	for {
		err := o.once(ctx, chosen)
		if ctx.Err() != nil {
			return
		}
		o.log.Warn().Err(err).Msg("the operators stopped; restarting")
		if clock.Sleep(ctx, o.clk, restartPause) != nil {
			return
		}
	}
}

func (o *Operators) once(ctx context.Context, chosen []operator) error {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	owned, err := labels.NewRequirement(labelObject, selection.Exists, nil)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(o.rest, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Logger: klogs.Logger(o.log.Level(zerolog.WarnLevel)),
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Label: labels.NewSelector().Add(*owned)},
		}},
	})
	if err != nil {
		return fmt.Errorf("create the manager of the operators: %w", err)
	}
	blocks := &blocks{reader: mgr.GetClient(), writer: mgr.GetClient(), operators: chosen, given: map[string]int{}}
	for _, one := range chosen {
		if err := attach(mgr, one, &controller{operator: one, client: mgr.GetClient(), blocks: blocks, clk: o.clk}); err != nil {
			return err
		}
	}
	return mgr.Start(ctx)
}

func attach(mgr manager.Manager, one operator, by *controller) error {
	unchecked := true // a manager that is replaced registers the same names again
	err := builder.ControllerManagedBy(mgr).Named(one.plural).For(one.blank()).Owns(&corev1.Pod{}).
		WithOptions(controlled.Options{SkipNameValidation: &unchecked}).Complete(by)
	if err != nil {
		return fmt.Errorf("operator %s: %w", one.name, err)
	}
	return nil
}

// network asks programs of clusters.
type network interface {
	// Listens reports whether a program listens at an address.
	Listens(ctx context.Context, address string) bool
	// Get returns what a program answers to a request; false if it does not.
	Get(ctx context.Context, url string) ([]byte, bool)
	// Post asks a program to do something, and does not wait for it.
	Post(ctx context.Context, url string)
}

// machine is the network of this machine.
type machine struct{}

const (
	// askTimeout is how long a program of this machine may take to answer.
	askTimeout = 2 * time.Second
	// maxAnswer bounds its answer, in bytes.
	maxAnswer = 1 << 20
)

// Listens implements network.
func (machine) Listens(ctx context.Context, address string) bool {
	conn, err := (&net.Dialer{Timeout: askTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// Get implements network.
func (machine) Get(ctx context.Context, url string) ([]byte, bool) {
	return ask(ctx, http.MethodGet, url)
}

// Post implements network.
func (machine) Post(ctx context.Context, url string) { _, _ = ask(ctx, http.MethodPost, url) }

func ask(ctx context.Context, method, url string) ([]byte, bool) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, false
	}
	answer, err := (&http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return nil, false
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	return body, err == nil && answer.StatusCode == http.StatusOK
}
