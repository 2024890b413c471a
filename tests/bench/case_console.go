package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// measureConsole stores a run like one of a busy day, and sends the console's requests.
func measureConsole(shown, samples int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		c := storetest.DefaultShown()
		c.Project, c.Domain, c.Name, c.Actions, c.Now = stack.Project, stack.Domain, s.NewRun("shown").Name, shown, time.Now()
		pool, err := pgxpool.New(ctx, s.Postgres.DSN())
		if err != nil {
			return err
		}
		defer pool.Close()
		began := time.Now()
		if err := storetest.Show(ctx, pool, c); err != nil {
			return err
		}
		r.Add("storing the run", time.Since(began).Seconds(), "s")
		return askAsConsole(ctx, s.Client.URL, ident.Run{Project: c.Project, Domain: c.Domain, Name: c.Name}, samples, r)
	}
}

// askAsConsole measures the requests of a run's page.
func askAsConsole(ctx context.Context, url string, run ident.Run, samples int, r *figures.Result) error {
	c := newConsole(url)
	defer c.transport.CloseIdleConnections()
	var numbers []uint32
	for _, packed := range []bool{false, true} {
		name := "snapshot"
		if packed {
			name = "snapshot gzipped"
		}
		var first, whole []time.Duration
		var bytes int64
		for i := range min(samples, 5) + 1 {
			p, err := c.picture(ctx, run, packed)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if i > 0 { // the first warms up
				first, whole = append(first, p.first), append(whole, p.whole)
			}
			bytes, numbers = p.bytes, p.numbers
		}
		r.Latency(name+", first part", first)
		r.Latency(name, whole)
		r.Add(name, float64(bytes)/(1<<20), "MiB")
	}
	r.Add("actions", float64(len(numbers)), "")
	return c.questions(ctx, run, numbers, samples, r)
}

// questions are the unary calls of the page.
func (c *console) questions(ctx context.Context, run ident.Run, numbers []uint32, samples int, r *figures.Result) error {
	// Each call asks about other actions, as a person who scrolls does: the same ones would come from memory.
	var place int
	for _, ask := range []struct {
		name string
		do   func() error
	}{
		{"ListTransitions of 500", func() error {
			if place+500 > len(numbers) {
				place = 0
			}
			part := numbers[place:min(place+500, len(numbers))]
			place += 500
			_, err := c.plain.ListTransitions(ctx, &insightv1.ListTransitionsRequest{RunId: run.Proto(), Numbers: part})
			return err
		}},
		{"ListErrors", func() error {
			_, err := c.plain.ListErrors(ctx, &insightv1.ListErrorsRequest{RunId: run.Proto()})
			return err
		}},
	} {
		taken := make([]time.Duration, 0, samples)
		for i := range samples + warmUps {
			began := time.Now()
			if err := ask.do(); err != nil {
				return fmt.Errorf("%s: %w", ask.name, err)
			}
			if i >= warmUps {
				taken = append(taken, time.Since(began))
			}
		}
		r.Latency(ask.name, taken)
	}
	return nil
}

// console sends requests as the page does. plain does not compress streams, packed does.
type console struct {
	transport     *http.Transport
	read          *atomic.Int64 // bytes of answers
	plain, packed insightv1connect.InsightServiceClient
}

// newConsole returns a client over HTTP/1.1 that counts compressed bytes: the transport must not decompress on its own.
func newConsole(url string) *console {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	c := &console{transport: &http.Transport{Protocols: protocols, DisableCompression: true}, read: &atomic.Int64{}}
	over := &http.Client{Transport: counting{c.transport, c.read}}
	c.plain = insightv1connect.NewInsightServiceClient(over, url, connect.WithAcceptCompression("gzip", nil, nil))
	c.packed = insightv1connect.NewInsightServiceClient(over, url)
	return c
}

// picture describes how a snapshot arrived.
type picture struct {
	first, whole time.Duration // to the first actions, to all
	bytes        int64
	numbers      []uint32
}

// picture reads one snapshot, from the request to the message that says it is complete.
func (c *console) picture(ctx context.Context, run ident.Run, packed bool) (picture, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := c.plain
	if packed {
		client = c.packed
	}
	var p picture
	before, began := c.read.Load(), time.Now()
	stream, err := client.WatchRunActions(ctx, &insightv1.WatchRunActionsRequest{RunId: run.Proto()})
	if err != nil {
		return p, err
	}
	defer stream.Close() //nolint:errcheck // read as far as needed
	for stream.Receive() {
		if actions := stream.Msg().GetActions(); actions != nil {
			if p.first == 0 {
				p.first = time.Since(began)
			}
			p.numbers = append(p.numbers, actions.GetNumbers()...)
		}
		if stream.Msg().GetCaughtUp() != nil {
			p.whole, p.bytes = time.Since(began), c.read.Load()-before
			return p, nil
		}
	}
	return p, errors.Join(errors.New("the stream ended before the snapshot was complete"), stream.Err())
}

// counting counts the bytes of bodies.
type counting struct {
	http.RoundTripper
	read *atomic.Int64
}

func (c counting) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = countingBody{response.Body, c.read}
	}
	return response, err
}

type countingBody struct {
	io.ReadCloser
	read *atomic.Int64
}

func (b countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read.Add(int64(n))
	return n, err
}
