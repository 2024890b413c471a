package cacheservice_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	cacheservice "github.com/flyte-binary/flyte-binary/cache_service"
	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	cachev2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2"
)

func TestPutAndGet(t *testing.T) {
	c := newCaching(t, nil)
	for _, uri := range []string{"/out/1", "/out/2"} {
		c.blobs.set(uri, true)
	}
	_, err := c.get(here, "k")
	refused(t, err, connect.CodeNotFound, "the cache has no entry for this key")
	require.NoError(t, c.put(here, "k", "/out/1", nil))
	c.has(here, "k", "/out/1")

	c.clock.Step(time.Hour)
	require.NoError(t, c.put(here, "k", "/out/1", nil), "the same outputs again")
	output, err := c.get(here, "k")
	require.NoError(t, err)
	require.Equal(t, c.clock.Now().Add(-time.Hour), output.GetMetadata().GetLastUpdatedAt().AsTime(), "and keeps its age")

	refused(t, c.put(here, "k", "/out/2", nil), connect.CodeAlreadyExists, "other outputs")
	refused(t, c.put(here, "k", "/out/2", &cachev1.OverwriteOutput{MaxAge: durationpb.New(time.Hour)}), connect.CodeAlreadyExists, "")
	c.has(here, "k", "/out/1")
	require.NoError(t, c.put(here, "k", "/out/2", &cachev1.OverwriteOutput{MaxAge: durationpb.New(time.Hour - time.Second)}))
	c.has(here, "k", "/out/2")
	require.NoError(t, c.put(here, "k", "/out/1", &cachev1.OverwriteOutput{Overwrite: true}))
	c.has(here, "k", "/out/1")

	require.NoError(t, c.remove("k"))
	refused(t, c.remove("k"), connect.CodeNotFound, "the cache has no entry for this key")
}

func TestMetadataIsKept(t *testing.T) {
	c := newCaching(t, nil)
	c.blobs.set("/out/1", true)
	_, err := c.v1.Put(t.Context(), &cachev1.PutCacheRequest{Key: "k", Output: &cachev1.CachedOutput{
		Output:   &cachev1.CachedOutput_OutputUri{OutputUri: "/out/1"},
		Metadata: &cachev1.Metadata{KeyMap: &cachev1.KeyMapMetadata{Values: map[string]string{"run": "r1"}}},
	}})
	require.NoError(t, err)
	output, err := c.get(nil, "k")
	require.NoError(t, err)
	require.Equal(t, "r1", output.GetMetadata().GetKeyMap().GetValues()["run"])
	require.Equal(t, c.clock.Now(), output.GetMetadata().GetCreatedAt().AsTime())
}

// Story: upstream joined project, domain and key with dashes, so that two scopes could share an entry.
func TestScopesCannotMeet(t *testing.T) {
	c := newCaching(t, nil)
	scopes := map[string]*cachev2.Identifier{
		"/out/1": in("a-b", "c"), "/out/2": in("a", "b-c"), "/out/3": in("a", "b"), "/out/4": nil,
	}
	for uri, scope := range scopes {
		c.blobs.set(uri, true)
		require.NoError(t, c.put(scope, "c-k", uri, nil))
	}
	for uri, scope := range scopes {
		c.has(scope, "c-k", uri)
	}
	_, err := c.get(in("a", "b"), "k")
	refused(t, err, connect.CodeNotFound, "the cache has no entry for this key")
}

// I8: an entry whose outputs are gone is not served and does not block new ones.
func TestOutputsThatAreGone(t *testing.T) {
	c := newCaching(t, nil)
	c.blobs.set("/out/1", true)
	c.blobs.set("/out/2", true)
	require.NoError(t, c.put(here, "k", "/out/1", nil))
	c.blobs.fail(errBroken)
	_, err := c.get(here, "k")
	refused(t, err, connect.CodeUnavailable, "cannot check whether the outputs")
	c.blobs.fail(nil)
	c.has(here, "k", "/out/1")

	c.blobs.set("/out/1", false)
	_, err = c.get(here, "k")
	refused(t, err, connect.CodeNotFound, "the outputs at /out/1/outputs.pb no longer exist")
	_, err = c.get(here, "k")
	refused(t, err, connect.CodeNotFound, "the cache has no entry for this key")
	require.NoError(t, c.put(here, "k", "/out/2", nil))
	c.has(here, "k", "/out/2")
	refused(t, c.put(here, "other", "/out/1", nil), connect.CodeFailedPrecondition, "no outputs exist at")
}

func TestBadRequests(t *testing.T) {
	c := newCaching(t, nil)
	c.blobs.set("/out", true)
	refused(t, c.put(here, "", "/out", nil), connect.CodeInvalidArgument, "base_request.key")
	refused(t, c.put(nil, "", "/out", nil), connect.CodeInvalidArgument, "key: ")
	refused(t, c.put(here, strings.Repeat("k", 513), "/out", nil), connect.CodeInvalidArgument, "base_request.key")
	refused(t, c.put(here, "k", "", nil), connect.CodeInvalidArgument, "base_request.output.output_uri")
	refused(t, c.put(in(strings.Repeat("p", 513), "d"), "k", "/out", nil), connect.CodeInvalidArgument, "identifier.project")
	refused(t, c.put(in("", "d"), "k", "/out", nil), connect.CodeInvalidArgument, "identifier.project")
	refused(t, c.put(here, "k", "/out", &cachev1.OverwriteOutput{DeleteBlob: true}), connect.CodeInvalidArgument, "overwrite.delete_blob")
	refused(t, c.put(here, "k", "/out", &cachev1.OverwriteOutput{MaxAge: durationpb.New(-1)}), connect.CodeInvalidArgument, "overwrite.max_age")
	_, err := c.v1.GetOrExtendReservation(t.Context(), &cachev1.GetOrExtendReservationRequest{Key: "k"})
	refused(t, err, connect.CodeInvalidArgument, "owner_id")
	_, err = c.v1.GetOrExtendReservation(t.Context(), &cachev1.GetOrExtendReservationRequest{
		Key: "k", OwnerId: "a", HeartbeatInterval: durationpb.New(-1),
	})
	refused(t, err, connect.CodeInvalidArgument, "heartbeat_interval")
}

func TestReservation(t *testing.T) {
	c := newCaching(t, nil)
	mine := c.reserve("k", "a")
	require.Equal(t, "a", mine.GetOwnerId())
	require.Equal(t, 10*time.Second, mine.GetHeartbeatInterval().AsDuration())
	require.Equal(t, c.clock.Now().Add(30*time.Second), mine.GetExpiresAt().AsTime())
	require.Equal(t, "a", c.reserve("k", "b").GetOwnerId())
	require.Equal(t, "b", c.reserve("other", "b").GetOwnerId())

	c.clock.Step(29 * time.Second)
	require.Equal(t, "a", c.reserve("k", "b").GetOwnerId())
	require.Equal(t, c.clock.Now().Add(30*time.Second), c.reserve("k", "a").GetExpiresAt().AsTime(), "extended")
	c.clock.Step(30 * time.Second)
	require.Equal(t, "b", c.reserve("k", "b").GetOwnerId(), "expired")

	c.release("k", "a")
	require.Equal(t, "b", c.reserve("k", "c").GetOwnerId(), "not the owner's to release")
	c.release("k", "b")
	c.release("k", "b")
	require.Equal(t, "c", c.reserve("k", "c").GetOwnerId())

	short, err := c.v1.GetOrExtendReservation(t.Context(), &cachev1.GetOrExtendReservationRequest{
		Key: "k", OwnerId: "z", HeartbeatInterval: durationpb.New(time.Second),
	})
	require.NoError(t, err)
	require.Equal(t, "z", short.GetReservation().GetOwnerId(), "another scope")
	require.Equal(t, c.clock.Now().Add(3*time.Second), short.GetReservation().GetExpiresAt().AsTime())
}

func TestExpiredIsCollected(t *testing.T) {
	c := newCaching(t, func(config *cacheservice.Config) { config.KeepOutputs = time.Hour })
	c.blobs.set("/out", true)
	require.NoError(t, c.put(here, "k", "/out", nil))
	c.reserve("k", "a")
	c.clock.Step(31 * time.Second)
	c.reserve("k2", "a")
	require.NoError(t, c.service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, c.service.Stop(context.WithoutCancel(t.Context()))) })
	count := func(table string) (n int) {
		require.NoError(t, c.pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return count("cache_reservations") == 1 }, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, 1, count("cache_outputs"))
	require.Eventually(t, func() bool {
		c.clock.Step(10 * time.Second)
		return count("cache_reservations") == 0
	}, 20*time.Second, 20*time.Millisecond)
	c.clock.Step(time.Hour)
	require.Eventually(t, func() bool {
		c.clock.Step(10 * time.Second)
		return count("cache_outputs") == 0
	}, 20*time.Second, 20*time.Millisecond)
}

// Of many concurrent puts with different outputs one wins, and all see its outputs; of many concurrent claims one wins.
func TestRacesHaveOneWinner(t *testing.T) {
	c := newCaching(t, nil)
	for round := range 20 {
		key := fmt.Sprintf("k%d", round)
		var stored, owned atomic.Int32
		var work sync.WaitGroup
		for i := range 8 {
			uri := fmt.Sprintf("/out/%d", i)
			c.blobs.set(uri, true)
			work.Go(func() {
				if c.put(here, key, uri, nil) == nil {
					stored.Add(1)
				}
				if c.reserve(key, uri).GetOwnerId() == uri {
					owned.Add(1)
				}
			})
		}
		work.Wait()
		require.EqualValues(t, 1, stored.Load())
		require.EqualValues(t, 1, owned.Load())
	}
}

// An entry beyond the maximum age is replaced once, however many callers try.
func TestOldEntryIsReplacedOnce(t *testing.T) {
	c := newCaching(t, nil)
	c.blobs.set("/old", true)
	require.NoError(t, c.put(here, "k", "/old", nil))
	c.clock.Step(2 * time.Hour)
	var stored atomic.Int32
	var work sync.WaitGroup
	for i := range 8 {
		uri := fmt.Sprintf("/out/%d", i)
		c.blobs.set(uri, true)
		work.Go(func() {
			if c.put(here, "k", uri, &cachev1.OverwriteOutput{MaxAge: durationpb.New(time.Hour)}) == nil {
				stored.Add(1)
			}
		})
	}
	work.Wait()
	require.EqualValues(t, 1, stored.Load())
}
