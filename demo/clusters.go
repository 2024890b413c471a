package demo

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/demo/node/podvolume"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
	"github.com/flyte-binary/flyte-binary/demo/operators"
)

// givesAddresses says that a process can use any address in 127.0.0.0/8.
const givesAddresses = runtime.GOOS == "linux"

// errNoNames means that pods of a JobSet could not find each other.
var errNoNames = errors.New("--with jobset: the processes of a JobSet find each other by name, and this machine does not let a user " +
	"other than root give them names: it allows no user namespaces")

// startOperators does the work of the operators that the user names.
func (d *demo) startOperators(ctx context.Context) error {
	if len(d.opts.With) == 0 {
		return nil
	}
	if slices.Contains(d.opts.With, "jobset") && !shim.GivesNames() {
		return errNoNames
	}
	cluster := d.cluster.RESTConfig()
	cluster.Wrap(d.pace.Wrap)
	d.clusters = operators.New(operators.Config{
		Kinds: d.opts.With, PrivateFiles: os.Geteuid() == 0 && podvolume.HaveNamespaces(),
	}, cluster, d.log, d.clock)
	return d.screen.Step("clusters", "of processes for "+strings.Join(d.opts.With, ", "), func() error { return d.clusters.Start(ctx) })
}
