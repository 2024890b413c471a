package demo

import (
	"context"
	"os"
	"runtime"
	"strings"

	"github.com/flyte-binary/flyte-binary/demo/node/podvolume"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
	"github.com/flyte-binary/flyte-binary/demo/operators"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

// givesAddresses says that a process can use any address in 127.0.0.0/8.
const givesAddresses = runtime.GOOS == "linux"

// longestDir is the longest directory of the node below which a socket can be in a temporary directory of a process of Python in a
// temporary directory of a container, in characters.
const longestDir = 107 - len("/tmp/0123456789ab-0/pymp-01234567/listener-01234567")

// checkClusters refuses what this machine does not let its user run, before anything starts. The pods of a JobSet find each other by
// the names of its service, and the agents of torchrun by the host name that the first of them tells the others: without names of pods,
// that is the machine's, and the others wait for half an hour.
func (o Options) checkClusters() error {
	var asked []string
	for _, kind := range o.With {
		if kind == "jobset" || kind == "pytorch" {
			asked = append(asked, kind)
		}
	}
	if len(asked) == 0 || shim.GivesNames() {
		return nil
	}
	kinds := strings.Join(asked, " and ")
	return &diagnose.Failure{
		Part: "clusters", Tried: "run clusters of " + kinds,
		Cause: "their processes find each other by name, and this machine lets only root give them names: it allows no user namespaces",
		Fix: "start the demo as root, allow user namespaces (user.max_user_namespaces, kernel.unprivileged_userns_clone, " +
			"kernel.apparmor_restrict_unprivileged_userns), or leave " + kinds + " out of --with: ray and dask need no names",
	}
}

// startOperators does the work of the operators that the user names.
func (d *demo) startOperators(ctx context.Context) error {
	if len(d.opts.With) == 0 {
		return nil
	}
	cluster := d.cluster.RESTConfig()
	cluster.Wrap(d.pace.Wrap)
	d.clusters = operators.New(operators.Config{
		Kinds: d.opts.With, PrivateFiles: os.Geteuid() == 0 && podvolume.HaveNamespaces(), LongPaths: len(d.dir.Node()) > longestDir,
	}, cluster, d.log, d.clock)
	return d.screen.Step("clusters", "of processes for "+strings.Join(d.opts.With, ", "), func() error { return d.clusters.Start(ctx) })
}
