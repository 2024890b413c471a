package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// requestRate is how many requests a second go each way while latencies are measured: few, so that none waits for another.
const requestRate = 500

// turns is how often each way takes its turn while the throughput is measured.
const turns = 11

// way is one of the ways to the same replica.
type way struct {
	name, url string
	took      []time.Duration
	perSecond []float64
	cpu       map[string]time.Duration
}

// measureGateway sends requests to a replica directly and through the gateway, by turns, so that the state of the machine is
// the same for both. Client, gateway and replica are processes of their own and share the machine's cores.
func (c appsCase) measureGateway(ctx context.Context, s *stack, r *Result, node *appNode, apps *appClient) error {
	const name = "answers"
	port, err := freePort()
	if err != nil {
		return err
	}
	command, err := answering(port)
	if err != nil {
		return err
	}
	if err := apps.deploy(ctx, name, port, command, 1); err != nil {
		return err
	}
	if err := apps.await(ctx, name, false); err != nil {
		return err
	}
	replica := node.running(name)
	if replica == nil {
		return errors.New("the app has no replica")
	}
	ways := []*way{
		{name: "direct", url: fmt.Sprintf("http://127.0.0.1:%d/", port), cpu: map[string]time.Duration{}},
		{name: "through the gateway", url: apps.address(name), cpu: map[string]time.Duration{}},
	}
	if err := c.constantly(ctx, apps, ways); err != nil {
		return err
	}
	for _, w := range ways {
		r.latency(w.name, w.took)
	}
	for _, p := range []int{50, 99} {
		r.add(fmt.Sprintf("added by the gateway p%d", p), milliseconds(percentile(ways[1].took, p)-percentile(ways[0].took, p)), "ms")
	}
	if err := c.atOnce(ctx, s, apps, ways, replica.process.Pid()); err != nil {
		return err
	}
	c.addThroughput(r, ways)
	return apps.delete(ctx, name)
}

// constantly sends requests at a constant rate, whether earlier ones are answered or not.
func (c appsCase) constantly(ctx context.Context, apps *appClient, ways []*way) error {
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
func (c appsCase) atOnce(ctx context.Context, s *stack, apps *appClient, ways []*way, replica int) error {
	for turn := range turns {
		for i := range ways {
			w := ways[(turn+i)%len(ways)] // whoever comes first in a turn has no advantage
			before, err := s.usage()
			if err != nil {
				return err
			}
			replicaBefore, err := cpuOf(replica)
			if err != nil {
				return err
			}
			began := time.Now()
			if _, err := each(c.requests, c.clients, func(int) string { return w.url }, func(url string) error { return apps.get(ctx, url) }); err != nil {
				return err
			}
			w.perSecond = append(w.perSecond, float64(c.requests)/time.Since(began).Seconds())
			after, err := s.usage()
			if err != nil {
				return err
			}
			replicaAfter, err := cpuOf(replica)
			if err != nil {
				return err
			}
			used := after.since(before)
			for name, cpu := range map[string]time.Duration{
				"client": used.cpu[clientName], "server": used.cpu[serverName], "app": replicaAfter - replicaBefore,
			} {
				w.cpu[name] += cpu
			}
		}
	}
	return nil
}

func (c appsCase) addThroughput(r *Result, ways []*way) {
	var shares []float64
	for turn := range turns {
		shares = append(shares, 100*ways[1].perSecond[turn]/ways[0].perSecond[turn])
	}
	for _, w := range ways {
		r.add(fmt.Sprintf("%s, %d clients", w.name, c.clients), middle(w.perSecond), "req/s")
	}
	r.add("throughput through the gateway", middle(shares), "% of direct")
	for _, w := range ways {
		for _, name := range []string{"client", "app", "server"} {
			r.add(fmt.Sprintf("CPU per request %s, %s", w.name, name), milliseconds(w.cpu[name])/float64(turns*c.requests), "ms")
		}
	}
}

// middle is the median.
func middle[T float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
