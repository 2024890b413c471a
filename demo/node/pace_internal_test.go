package node

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/internal/kube/apipace"
	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// brief is a clock whose timers fire soon.
type brief struct{ clock.System }

func (brief) NewTimer(time.Duration) clock.Timer { return clock.System{}.NewTimer(time.Millisecond) }

// overloaded is an API server that refuses writes until it is healed, and counts them.
type overloaded struct {
	healed               atomic.Bool
	atOnce, peak, writes atomic.Int64
}

func (o *overloaded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.peak.Store(max(o.peak.Load(), o.atOnce.Add(1)))
	defer o.atOnce.Add(-1)
	o.writes.Add(1)
	w.Header().Set("Content-Type", "application/json")
	if !o.healed.Load() {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`)
		return
	}
	_, _ = fmt.Fprintf(w, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q}}`, r.URL.Path)
}

// TestStatusWritersBackOffTogether: the writers of 100 pods' statuses tried again at full load.
func TestStatusWritersBackOffTogether(t *testing.T) {
	server := &overloaded{}
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: listening.URL, QPS: -1})
	require.NoError(t, err)
	var lines lineCount
	n := &Node{
		clk: brief{}, client: client, ctx: t.Context(), log: zerolog.New(&lines),
		writers: apipace.NewGate(brief{}, leastWrites, mostWrites), complaints: loglimit.New(brief{}),
	}
	var group sync.WaitGroup
	var written atomic.Int64
	const pods = 100
	for i := range pods {
		w := newWorker(n, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint(i))}})
		group.Go(func() {
			status, final := w.status()
			if w.write(t.Context(), &status, &final) {
				written.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return n.writers.Bound() == leastWrites }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return server.atOnce.Load() <= leastWrites }, time.Minute, time.Millisecond)
	server.peak.Store(0)
	before := server.writes.Load()
	require.Eventually(t, func() bool { return server.writes.Load() > before+20 }, time.Minute, time.Millisecond)
	require.LessOrEqual(t, server.peak.Load(), int64(leastWrites), "all of them wait, instead of keeping it busy")

	gone := newWorker(n, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "gone"}})
	close(gone.gone)
	status, final := gone.status()
	require.False(t, gone.write(t.Context(), &status, &final), "a pod that is gone has no status to write")

	server.healed.Store(true)
	group.Wait()
	require.EqualValues(t, pods, written.Load(), "no status is lost")
	require.LessOrEqual(t, lines.Load(), int64(20), "an overload does not fill the log")
}

// lineCount counts lines of a log.
type lineCount struct{ atomic.Int64 }

func (c *lineCount) Write(p []byte) (int, error) { c.Add(1); return len(p), nil }
