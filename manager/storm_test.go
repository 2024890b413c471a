package manager_test

import (
	"context"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpcfuzz"
	"github.com/flyte-binary/flyte-binary/manager"
)

// TestTenThousandStreams: 10,000 watches over 20 connections are all served, other calls are answered meanwhile, and
// nothing is left of the watches when their clients leave.
func TestTenThousandStreams(t *testing.T) {
	const connections, streams = 20, 500
	url := startServer(t, apiConfig(t), nil)
	run := &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: "watched"}
	unary := workflowconnect.NewRunServiceClient(http.DefaultClient, url)
	require.NoError(t, createRun(t, unary, runOf(run.GetProject(), run.GetName())))
	before := runtime.NumGoroutine()

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var opened errgroup.Group
	var clients []*http.Client
	for range connections {
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
		clients = append(clients, client)
		watches := workflowconnect.NewRunServiceClient(client, url)
		opened.Go(func() error {
			for range streams {
				stream, err := watches.WatchRunDetails(ctx, &workflow.WatchRunDetailsRequest{RunId: run})
				if err != nil {
					return err
				}
				if !stream.Receive() {
					return stream.Err()
				}
			}
			return nil
		})
	}
	require.NoError(t, opened.Wait())
	require.Greater(t, runtime.NumGoroutine(), before+connections*streams, "all streams are open")

	details, err := unary.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: run})
	require.NoError(t, err)
	require.Equal(t, run.GetName(), details.GetDetails().GetAction().GetId().GetRun().GetName())
	require.NoError(t, createRun(t, unary, runOf(run.GetProject(), "another")))

	leave()
	require.Eventually(t, func() bool {
		for _, client := range clients {
			client.CloseIdleConnections() // a connection is idle once all of its streams have ended
		}
		return runtime.NumGoroutine() < before+connections
	}, time.Minute, 10*time.Millisecond, "the server keeps goroutines of streams that ended; it had %d before", before)
}

// TestNoRequestBreaksTwoReplicas sends the fuzzer's requests to two servers of one database at the same time: what one
// writes, the other reads, watches and competes for.
func TestNoRequestBreaksTwoReplicas(t *testing.T) {
	config := apiConfig(t)
	config.Auth.InternalToken = "of-the-fuzzer"
	log := &lines{}
	var words []string
	var fuzzers []*rpcfuzz.Fuzzer
	for i := range 2 {
		server, err := manager.Complete(t.Context(), config, manager.Options{Logger: zerolog.New(log).Level(zerolog.ErrorLevel)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
		require.NoError(t, server.Start(t.Context()))
		url := "http://" + server.Addr()
		if words == nil {
			words = populate(t, url, config.Storage.URL)
		}
		fuzzer := rpcfuzz.New(rpcfuzz.Config{
			URL: url, Words: words, Seed: seedOf(t) + uint64(i), Services: []string{"flyteidl2.", "flytebinary."}, Deadline: 100 * time.Millisecond,
			Header: http.Header{http.CanonicalHeaderKey(rpc.InternalTokenHeader): {"of-the-fuzzer"}},
		})
		defer fuzzer.Close()
		fuzzers = append(fuzzers, fuzzer)
	}
	var attack errgroup.Group
	for _, fuzzer := range fuzzers {
		attack.Go(func() error {
			_, err := fuzzer.Run(t.Context(), 5*fuzzer.Methods())
			return err
		})
	}
	require.NoError(t, attack.Wait())
	require.NotContains(t, log.String(), "panic")
}
