package gateway_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/apps/gateway"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// asleep is an app without replicas that a request wakes.
func asleep(name string) *enginev1.AppRoute {
	return changed(route(name), func(r *enginev1.AppRoute) { r.Wakes = true })
}

// answers is what requests got.
type answers struct {
	mu     sync.Mutex
	counts map[string]int // GUARDED_BY(mu): by status and body
}

func (a *answers) add(status int, body string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts[fmt.Sprint(status, " ", strings.TrimSpace(body))]++
}

// TestRequestsWakeAnApp sends 100 requests at once to a sleeping app: it is woken once, and they are all answered as soon as
// the replica accepts connections, which is before it is reported as ready.
func TestRequestsWakeAnApp(t *testing.T) {
	a := newApps(asleep("one"))
	starting := make(chan struct{})
	address := unused(t)
	a.onWake = func(string) error { close(starting); return nil } // a second call would panic
	f := start(t, a, options{})
	got := &answers{counts: map[string]int{}}
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			status, _, body := f.do(t, http.MethodPost, "/apps/p/d/one/", strings.NewReader(fmt.Sprint("request ", i)), nil)
			got.add(status, strings.TrimRight(body, "0123456789"))
		})
	}
	<-starting
	a.set(changed(asleep("one"), func(r *enginev1.AppRoute) {
		r.Targets = []*enginev1.RouteTarget{{Replica: "r", Address: address}} // not ready, and nothing listens yet
	}))
	f.settle(t)
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	group.Wait()
	require.Equal(t, map[string]int{"200 request": 100}, got.counts)
	require.Equal(t, 1, a.wakes("uid-one"))
}

// TestAnAppThatDoesNotWake: the answer has words, in the form that the client reads.
func TestAnAppThatDoesNotWake(t *testing.T) {
	a := newApps(asleep("one"))
	f := start(t, a, options{config: func(c *gateway.Config) { c.WaitTimeout = 50 * time.Millisecond }})
	const words = "no replica of the app has started within 50ms"
	for accept, content := range map[string]string{"text/html": "text/html; charset=utf-8", "application/json": "application/json", "*/*": "text/plain; charset=utf-8"} {
		status, header, body := f.get(t, "/apps/p/d/one/", map[string]string{"Accept": accept, "Host": "192.168.0.1"})
		if accept == "text/html" {
			require.Contains(t, body, "<h1>")
		}
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Equal(t, content, header.Get("Content-Type"))
		require.Equal(t, "5", header.Get("Retry-After"))
		require.Equal(t, "no-store", header.Get("Cache-Control"))
		require.Contains(t, body, words)
	}
}

// TestTheReasonEndsTheWait: requests wait while a replica may come, and not longer.
func TestTheReasonEndsTheWait(t *testing.T) {
	a := newApps(route("one"))
	f := start(t, a, options{})
	waiting := make(chan string)
	go func() {
		status, _, body := f.get(t, "/apps/p/d/one/", nil)
		waiting <- fmt.Sprint(status, " ", body)
	}()
	require.Eventually(t, func() bool { return f.service.Waiting() == 1 }, time.Minute, time.Millisecond)
	a.set(changed(route("one"), func(r *enginev1.AppRoute) { r.Reason = "its image cannot be pulled" }))
	require.Equal(t, "503 its image cannot be pulled\n", <-waiting)
	require.Zero(t, a.wakes("uid-one"), "it does not sleep")

	a.set(asleep("one"))
	f.settle(t)
	go func() {
		status, _, body := f.get(t, "/apps/p/d/one/", nil)
		waiting <- fmt.Sprint(status, " ", body)
	}()
	require.Eventually(t, func() bool { return a.wakes("uid-one") == 1 }, time.Minute, time.Millisecond)
	a.remove("uid-one")
	require.Equal(t, "404 the app has been deleted\n", <-waiting)

	a.set(asleep("one"))
	f.settle(t)
	go func() {
		status, _, body := f.get(t, "/apps/p/d/one/", nil)
		waiting <- fmt.Sprint(status, " ", body)
	}()
	require.Eventually(t, func() bool { return f.service.Waiting() == 1 }, time.Minute, time.Millisecond)
	f.stop()
	require.Contains(t, <-waiting, "503 ", "the process stops")
	require.Zero(t, f.service.Waiting())
}

func TestErrorsOfTheAppsServiceWhileWaking(t *testing.T) {
	a := newApps(asleep("flaky"), asleep("refused"))
	backend := replica(t, says("awake"))
	failures := 2
	a.onWake = func(uid string) error {
		switch {
		case uid == "uid-refused":
			return rpc.FailedPrecondition("the project is archived")
		case failures > 0:
			failures--
			return rpc.Unavailable(errors.New("down"), "the database does not answer")
		default:
			a.set(changed(route("flaky", backend), func(r *enginev1.AppRoute) { r.Wakes = true }))
			return nil
		}
	}
	f := start(t, a, options{})
	_, _, body := f.get(t, "/apps/p/d/flaky/", nil)
	require.Equal(t, "awake", body, "it is called again")
	status, _, body := f.get(t, "/apps/p/d/refused/", nil)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "the project is archived")
}

// TestWaitingIsBounded holds as many requests as allowed, for one app and for all.
func TestWaitingIsBounded(t *testing.T) {
	f := start(t, newApps(asleep("one"), asleep("two")), options{config: func(c *gateway.Config) { c.MaxWaiting, c.MaxWaitingTotal = 3, 4 }})
	var group sync.WaitGroup
	hold := func(name string, count int) {
		for range count {
			group.Go(func() {
				status, _, _ := f.get(t, "/apps/p/d/"+name+"/", nil)
				require.Contains(t, []int{http.StatusServiceUnavailable, http.StatusNotFound}, status)
			})
		}
	}
	full := func(name string) {
		status, _, body := f.get(t, "/apps/p/d/"+name+"/", nil)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Contains(t, body, "already waiting for a replica")
	}
	hold("one", 3)
	require.Eventually(t, func() bool { return f.service.Waiting() == 3 }, time.Minute, time.Millisecond)
	full("one")
	hold("two", 1)
	require.Eventually(t, func() bool { return f.service.Waiting() == 4 }, time.Minute, time.Millisecond)
	full("two")
	f.apps.remove("uid-one")
	require.Eventually(t, func() bool { return f.service.Waiting() == 1 }, time.Minute, time.Millisecond)
	f.stop()
	group.Wait()
	require.Zero(t, f.service.Waiting())
}

// TestConcurrencyOfAReplica: a replica never has more requests than it takes, and the others wait for their turn.
func TestConcurrencyOfAReplica(t *testing.T) {
	var mu sync.Mutex
	now, most := map[string]int{}, 0
	count := func(name string, by int) {
		mu.Lock()
		defer mu.Unlock()
		now[name] += by
		most = max(most, now[name])
	}
	counting := func(name string) http.HandlerFunc {
		return func(http.ResponseWriter, *http.Request) {
			count(name, 1)
			<-time.After(time.Millisecond)
			count(name, -1)
		}
	}
	a, b := replica(t, counting("a")), replica(t, counting("b"))
	limited := changed(route("one", a, b), func(r *enginev1.AppRoute) { r.Concurrency = 2 })
	f := start(t, newApps(limited), options{})
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for range 10 {
				status, _, body := f.get(t, "/apps/p/d/one/", nil)
				require.Equal(t, http.StatusOK, status, body)
			}
		})
	}
	group.Wait()
	require.LessOrEqual(t, most, 2)
}

// TestSilentApps: an app that does not answer within its time costs its client no more than that; one whose answer flows may
// take longer.
func TestSilentApps(t *testing.T) {
	release := make(chan struct{})
	flowing := replica(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			<-r.Context().Done()
			close(release)
			return
		}
		for range 10 {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			<-time.After(30 * time.Millisecond)
		}
	})
	f := start(t, newApps(changed(route("one", flowing), func(r *enginev1.AppRoute) {
		r.RequestTimeout = durationpb.New(150 * time.Millisecond)
	})), options{})
	status, _, body := f.get(t, "/apps/p/d/one/silent", nil)
	require.Equal(t, http.StatusGatewayTimeout, status)
	require.Contains(t, body, "has not answered within 150ms")
	<-release
	status, _, body = f.get(t, "/apps/p/d/one/flows", nil)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "xxxxxxxxxx", body)
}
