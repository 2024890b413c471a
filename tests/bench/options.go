package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// options are the flags. parseOptions says what each of them means.
type options struct {
	stack.Programs

	cases   string
	list    bool
	json    string
	dir     string
	demo    string
	keep    bool
	profile string

	timeout     time.Duration
	samples     int
	creates     int
	fanOut      []int
	plain       int
	concurrency int
	chain       int
	stored      int
	shown       int
	memory      int
	retried     int
	cached      int
	aborted     int
	waiting     int
	held        int
	heldFor     time.Duration
	paused      int
	triggers    int
	firing      int
	within      time.Duration
	published   int
	notified    int
	reused      int
	jobs        int
	settle      time.Duration
	rayJobs     int
	apps        int
	python      string
	requests    int
	starts      int
	examples    string
	rounds      int
	tasks       int
	kubeTasks   []int
	churn       bool
	live        int
	clusters    int
	placed      int
	rate        int
	streamFor   time.Duration
	soak        int
	soakFor     time.Duration
	soakRound   int
	quiet       time.Duration
	reuse       bool
}

// parseOptions parses the flags. The numbers are those of docs/performance.md, unless a flag changes them.
func parseOptions(args []string, progress io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.StringVar(&o.cases, "cases", "all", "names of cases, separated by commas; all means all but the long ones; -list shows them")
	flags.BoolVar(&o.list, "list", false, "list the cases")
	flags.StringVar(&o.json, "json", "", "also write the results to this file")
	flags.StringVar(&o.dir, "dir", "", "directory for data; its disk matters (default: the system's temporary directory)")
	flags.StringVar(&o.Server, "server", "", "the program to measure (default: built from manager/cmd/flyte-binary)")
	flags.StringVar(&o.python, "python", "", "the Python with the SDK and FastAPI, for apps and python-demo (default: .cache/e2e-python/bin/python, which make e2e-python installs)")
	flags.StringVar(&o.demo, "demo", "", "the built demo program, for apps-demo and python-demo (default: $FLYTE_BINARY_DEMO, else bin/flyte-binary)")
	flags.StringVar(&o.Binaries, "binaries", "", "directory of kube-apiserver and etcd (default: $KUBEBUILDER_ASSETS, else .bin)")
	flags.BoolVar(&o.keep, "keep", false, "keep data and logs")
	flags.StringVar(&o.profile, "profile", "", "write CPU and heap profiles of the server during each case into this directory")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Minute, "time limit of one case, including set-up")
	flags.IntVar(&o.samples, "samples", 100, "samples of each latency")
	flags.IntVar(&o.creates, "creates", 300, "runs created at each concurrency")
	fanOut := flags.String("fanout", "1000,5000", "children of the fan-outs with pods, separated by commas")
	flags.IntVar(&o.plain, "plain", 5000, "children of the fan-outs without pods")
	flags.IntVar(&o.concurrency, "concurrency", 32, "concurrent Enqueue calls")
	flags.IntVar(&o.chain, "chain", 200, "links of the chains")
	flags.IntVar(&o.stored, "stored", 1_000_000, "actions stored for the reads and the migrations")
	flags.IntVar(&o.shown, "shown", 100_000, "actions of the run that the console shows")
	flags.IntVar(&o.memory, "memory", 50_000, "actions done for the memory case")
	flags.IntVar(&o.retried, "retried", 1000, "children of the fan-out with retries")
	flags.IntVar(&o.cached, "cached", 5000, "children of the fan-out from the cache")
	flags.IntVar(&o.aborted, "aborted", 5000, "children of the run that is aborted")
	flags.IntVar(&o.waiting, "waiting", 100_000, "waiting children of the run that is aborted")
	flags.IntVar(&o.held, "held", 20_000, "children that sleep at once")
	flags.DurationVar(&o.heldFor, "heldfor", time.Minute, "how long each of them sleeps")
	flags.IntVar(&o.paused, "paused", 10_000, "conditions that wait at once")
	flags.IntVar(&o.live, "live", 100_000, "live actions of the restart")
	flags.IntVar(&o.clusters, "clusters", 50, "clusters of one control plane")
	flags.IntVar(&o.placed, "placed", 100_000, "actions that these clusters run altogether")
	flags.IntVar(&o.rate, "rate", 1000, "assignments a second to these clusters")
	flags.DurationVar(&o.streamFor, "streamfor", time.Minute, "how long these assignments last")
	flags.IntVar(&o.soak, "soak", 200_000, "actions of the soak")
	flags.DurationVar(&o.soakFor, "soakfor", 0, "end the soak after this time, whatever its number of actions; 0 means no limit")
	flags.IntVar(&o.soakRound, "soakround", 1000, "children of each run of the soak")
	flags.IntVar(&o.triggers, "triggers", 10_000, "active triggers")
	flags.IntVar(&o.firing, "firing", 1000, "triggers that fire")
	flags.DurationVar(&o.within, "within", time.Minute, "the time in which they fire")
	flags.IntVar(&o.published, "published", 5000, "children whose events are published")
	flags.IntVar(&o.notified, "notified", 2000, "runs with a notification rule")
	flags.IntVar(&o.reused, "reused", 3000, "children of a reusable environment")
	flags.IntVar(&o.jobs, "jobs", 10_000, "jobs of a connector in flight at once")
	flags.DurationVar(&o.settle, "settle", 5*time.Minute, "how long they run before they are measured: the pauses between looks grow to half a minute in five")
	flags.IntVar(&o.rayJobs, "rayjobs", 500, "RayJobs that run at once, and as many plain pods")
	flags.IntVar(&o.apps, "apps", 500, "apps that sleep")
	flags.IntVar(&o.requests, "requests", 5000, "requests to an app in each turn, and those sent at a constant rate")
	flags.IntVar(&o.starts, "starts", 10, "starts of an app that sleeps")
	flags.StringVar(&o.examples, "examples", "examples", "the directory with hello.py and fanout.py, for python-demo")
	flags.IntVar(&o.rounds, "rounds", 10, "Python tasks alone, of each kind of start")
	kubeTasks := flags.String("kubetasks", "1000,5000", "tasks in all at each look at the demo's API server, separated by commas")
	flags.BoolVar(&o.churn, "churn", false, "write to the demo's API server what tasks write, instead of running them: for many thousands")
	flags.IntVar(&o.tasks, "tasks", 1000, "Python tasks at once")
	flags.DurationVar(&o.quiet, "quiet", 10*time.Second, "how long an idle server is watched, and how long a busy one gets at most to settle")
	flags.BoolVar(&o.reuse, "reuse", false, "run all cases on the same processes: faster, but cases affect each other")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.fanOut, err = numbers("fanout", *fanOut); err != nil {
		return o, err
	}
	if o.kubeTasks, err = numbers("kubetasks", *kubeTasks); err != nil {
		return o, err
	}
	for name, n := range map[string]int{
		"samples": o.samples, "creates": o.creates, "plain": o.plain, "concurrency": o.concurrency, "chain": o.chain,
		"stored": o.stored, "memory": o.memory, "retried": o.retried, "cached": o.cached, "aborted": o.aborted, "waiting": o.waiting, "held": o.held, "paused": o.paused, "live": o.live, "clusters": o.clusters, "placed": o.placed, "rate": o.rate, "triggers": o.triggers, "firing": o.firing, "published": o.published, "notified": o.notified, "reused": o.reused, "apps": o.apps, "rayjobs": o.rayJobs, "requests": o.requests, "starts": o.starts, "rounds": o.rounds, "tasks": o.tasks, "soak": o.soak, "soakround": o.soakRound,
	} {
		if n <= 0 {
			return o, fmt.Errorf("-%s: must be positive, got %d", name, n)
		}
	}
	return o, nil
}

// numbers reads the value of a flag with several of them.
func numbers(name, texts string) ([]int, error) {
	var read []int
	for text := range strings.SplitSeq(texts, ",") {
		var n int
		if _, err := fmt.Sscanf(text, "%d", &n); err != nil || n <= 0 {
			return nil, fmt.Errorf("-%s: must be positive numbers, got %q", name, text)
		}
		read = append(read, n)
	}
	return read, nil
}

// choose picks cases by name.
func choose(all []benchCase, names string) ([]benchCase, error) {
	var chosen []benchCase
	for _, name := range strings.Split(names, ",") {
		if name == "all" {
			chosen = append(chosen, slices.DeleteFunc(slices.Clone(all), func(c benchCase) bool { return c.long })...)
			continue
		}
		i := slices.IndexFunc(all, func(c benchCase) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-cases: unknown case %q; -list shows all cases", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
