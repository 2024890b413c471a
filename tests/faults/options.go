package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// options are the flags.
type options struct {
	seeds    int
	first    uint64
	done     string
	minutes  int
	pools    bool
	mixed    bool
	clusters bool
	kinds    string
	chosen   []string // kinds of faults, from kinds
	dir      string
	demo     string
	server   string
	tools    string
	keep     bool
	failFast bool
	verbose  bool
}

func parseOptions(args []string, out io.Writer) (options, error) {
	var o options
	var seed uint64
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.SetOutput(out)
	o.seeds, o.first = 20, 1
	flags.Func("seeds", "number of storms (default 20), or the first and the last seed, as in 1-50", o.setSeeds)
	flags.Uint64Var(&o.first, "first", 1, "the seed of the first storm; the others follow")
	flags.StringVar(&o.done, "done", "", "a file that remembers which storms passed: those are not run again, so a series can be continued")
	flags.Uint64Var(&seed, "seed", 0, "run only the storm of this seed, to reproduce it")
	flags.IntVar(&o.minutes, "minutes", 0, "start no new storm after this many minutes; 0 means no limit")
	flags.BoolVar(&o.pools, "pools", false, "run most tasks in reusable environments, and strike their workers, too; this changes the storms of seeds")
	flags.BoolVar(&o.mixed, "mixed", false, "run tasks with all plugins, and have operators go away, too; this changes the storms of seeds")
	flags.BoolVar(&o.clusters, "clusters", false, "run the tasks on two clusters with a network between them and the API, and break that, too; this changes the storms of seeds")
	flags.StringVar(&o.kinds, "kinds", "", "only these kinds of faults, separated by commas; this changes the storms of seeds")
	flags.StringVar(&o.dir, "dir", "", "directory for data (default: the system's temporary directory)")
	flags.StringVar(&o.demo, "demo", "", "the built demo program, for its node (default: $FLYTE_BINARY_DEMO, else bin/flyte-binary)")
	flags.StringVar(&o.server, "server", "", "the server, built with -tags failpoints (default: built from manager/cmd/flyte-binary)")
	flags.StringVar(&o.tools, "tools", "", "directory of kube-apiserver and etcd (default: $KUBEBUILDER_ASSETS, else .bin)")
	flags.BoolVar(&o.keep, "keep", false, "keep data and logs of successful storms, too")
	flags.BoolVar(&o.failFast, "fail-fast", false, "stop at the first storm that fails")
	flags.BoolVar(&o.verbose, "v", false, "print the faults of each storm before it begins")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if seed != 0 {
		o.first, o.seeds, o.verbose = seed, 1, true
	}
	if o.clusters && (o.pools || o.mixed) {
		return o, errors.New("-clusters excludes -pools and -mixed")
	}
	var err error
	o.chosen, err = chooseKinds(o.kinds)
	return o, err
}

// setSeeds takes a number of storms, or the first and the last seed.
func (o *options) setSeeds(text string) error {
	first, last, both := strings.Cut(text, "-")
	if !both {
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			return fmt.Errorf("must be a positive number, or two as in 1-50, got %q", text)
		}
		o.seeds = n
		return nil
	}
	from, err := strconv.ParseUint(first, 10, 32)
	if err != nil {
		return fmt.Errorf("the first seed is not a number: %q", first)
	}
	to, err := strconv.ParseUint(last, 10, 32)
	if err != nil || to < from {
		return fmt.Errorf("the last seed must be a number that is not below the first, got %q", last)
	}
	o.first, o.seeds = from, int(to-from)+1
	return nil
}

// replayFlags are those that decide what a seed means.
func (o options) replayFlags() string {
	text := ""
	if o.pools {
		text += " -pools"
	}
	if o.mixed {
		text += " -mixed"
	}
	if o.clusters {
		text += " -clusters"
	}
	if o.kinds != "" {
		text += " -kinds " + o.kinds
	}
	return text
}
