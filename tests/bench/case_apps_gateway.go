package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
	"github.com/flyte-binary/flyte-binary/tests/bench/answers"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// requestRate is how many requests a second go each way while latencies are measured: few, so that none waits for
// another. A closed loop would hide waiting, since it sends nothing while it waits.
const requestRate = 500

// turns is how often each way takes its turn while the throughput is measured; an odd number, so that the median is a
// value that was measured.
const turns = 11

// way is one of the ways to the same replica.
type way struct {
	name, url string
	between   int // the process that passes requests on; 0 if none does
	took      []time.Duration
	perSecond []float64
	cpu       [3]time.Duration // of the client, the app and what is between
}

// measureGateway alternates between requests sent directly to a replica and requests sent through the gateway, so that a busy
// machine affects both equally. Client, gateway and replica are processes of their own and share the machine's cores.
func (c appsCase) measureGateway(ctx context.Context, s *stack.Stack, r *figures.Result, node *stack.AppNode, apps *appClient, program appProgram) error {
	name := program.name
	c.requests = program.requests
	port, err := stack.FreePort()
	if err != nil {
		return err
	}
	command, err := program.command(port)
	if err != nil {
		return err
	}
	if err := apps.deploy(ctx, name, port, command, 1); err != nil {
		return err
	}
	if err := apps.await(ctx, name, false); err != nil {
		return err
	}
	replica := node.Running(name)
	if replica == nil {
		return errors.New("the app has no replica")
	}
	proxy, err := startProxy(ctx, s.Dir, port)
	if err != nil {
		return err
	}
	defer stack.StopProcess(proxy.process)
	direct := &way{name: "direct", url: fmt.Sprintf("http://127.0.0.1:%d/", port)}
	gateway := &way{name: "through the gateway", url: apps.address(name), between: s.Server.Pid()}
	plain := &way{name: "through Go's proxy", url: proxy.url, between: proxy.process.Pid()}
	ways := []*way{direct, gateway, plain}
	if err := c.constantly(ctx, apps, ways); err != nil {
		return err
	}
	for _, w := range ways {
		r.Latency(program.label+w.name, w.took)
	}
	for _, w := range ways[1:] {
		for _, p := range []int{50, 99} {
			added := figures.Percentile(w.took, p) - figures.Percentile(direct.took, p)
			r.Add(fmt.Sprintf("%sadded %s p%d", program.label, w.name, p), figures.Milliseconds(added), "ms")
		}
	}
	if err := c.atOnce(ctx, apps, ways, replica.Process.Pid()); err != nil {
		return err
	}
	for _, w := range ways {
		c.addThroughput(r, program.label, w, direct)
	}
	return apps.delete(ctx, name)
}

// proxy is a proxy that does nothing but pass requests on: what it costs, no gateway in Go can save.
type proxy struct {
	process *supervise.Process
	url     string
}

// startProxy starts this program as a proxy to a port, and waits until it accepts connections.
func startProxy(ctx context.Context, dir string, to int) (proxy, error) {
	port, err := stack.FreePort()
	if err != nil {
		return proxy{}, err
	}
	command, err := answering(port)
	if err != nil {
		return proxy{}, err
	}
	command = append(command, fmt.Sprintf("127.0.0.1:%d", to))
	process, err := stack.Spawn(dir, "proxy", command[0], []string{answers.Env + "=1"}, command[1:]...)
	if err != nil {
		return proxy{}, err
	}
	p := proxy{process: process, url: fmt.Sprintf("http://127.0.0.1:%d/", port)}
	if err := stack.AwaitReady(ctx, process, stack.Accepts(fmt.Sprintf("127.0.0.1:%d", port))); err != nil {
		stack.StopProcess(process)
		return proxy{}, err
	}
	return p, nil
}

// constantly sends requests at a constant rate, whether earlier ones are answered or not.
func (c appsCase) constantly(ctx context.Context, apps *appClient, ways []*way) error {
	// The first requests open connections and are left out.
	const warm = 100
	var (
		mu       sync.Mutex
		failures []error
		sent     sync.WaitGroup
	)
	tick := time.NewTicker(time.Second / requestRate / time.Duration(len(ways)))
	defer tick.Stop()
	for i := range c.requests + warm {
		for _, w := range ways {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return ctx.Err()
			}
			sent.Go(func() {
				began := time.Now()
				err := apps.get(ctx, w.url)
				took := time.Since(began)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failures = append(failures, err)
				}
				if i >= warm {
					w.took = append(w.took, took)
				}
			})
		}
	}
	sent.Wait()
	return errors.Join(failures...)
}

// atOnce sends as many requests as some clients can, which each wait for one answer at a time.
func (c appsCase) atOnce(ctx context.Context, apps *appClient, ways []*way, replica int) error {
	for turn := range turns {
		for i := range ways {
			w := ways[(turn+i)%len(ways)] // rotate the order, so that going first gives no advantage
			before, err := w.used(replica)
			if err != nil {
				return err
			}
			began := time.Now()
			if _, err := stack.Each(c.requests, c.clients, func(int) string { return w.url }, func(url string) error { return apps.get(ctx, url) }); err != nil {
				return err
			}
			w.perSecond = append(w.perSecond, float64(c.requests)/time.Since(began).Seconds())
			after, err := w.used(replica)
			if err != nil {
				return err
			}
			for i := range after {
				w.cpu[i] += after[i] - before[i]
			}
		}
	}
	return nil
}

// used is the CPU time that the processes of a way have used so far.
func (w *way) used(replica int) (cpu [3]time.Duration, err error) {
	for i, pid := range []int{os.Getpid(), replica, w.between} {
		if pid == 0 {
			continue
		}
		if cpu[i], err = figures.CPUOf(pid); err != nil {
			return cpu, err
		}
	}
	return cpu, nil
}

// addThroughput records the median of the turns. The share of direct is computed for each turn, whose ways ran within a
// second of each other, before the median is taken: a slow minute of the machine then affects both sides of the
// quotient.
func (c appsCase) addThroughput(r *figures.Result, label string, w, direct *way) {
	r.Add(fmt.Sprintf("%s%s, %d clients", label, w.name, c.clients), middle(w.perSecond), "req/s")
	if w != direct {
		var shares []float64
		for turn := range turns {
			shares = append(shares, 100*w.perSecond[turn]/direct.perSecond[turn])
		}
		r.Add(label+"throughput "+w.name, middle(shares), "% of direct")
	}
	for i, name := range []string{"client", "app", "between"} {
		if w.cpu[i] > 0 {
			r.Add(fmt.Sprintf("%sCPU per request %s, %s", label, w.name, name), 1000*figures.Milliseconds(w.cpu[i])/float64(turns*c.requests), "µs")
		}
	}
}

// middle is the median.
func middle[T float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
