package executor_test

import (
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// BenchmarkFanOut measures finished actions per second, with the API server, its store, the node and the executor on this
// machine, logs kept. ACTIONS sets how many; 64 creators represent the owner of TaskActions.
func BenchmarkFanOut(b *testing.B) {
	zerolog.SetGlobalLevel(zerolog.ErrorLevel)
	actions := 500
	if n, err := strconv.Atoi(os.Getenv("ACTIONS")); err == nil {
		actions = n
	}
	h := newHarness(b, kubetest.NodeOptions{Program: succeeds, SkipRunning: os.Getenv("SKIP_RUNNING") != ""})
	template := taskTemplate()
	for b.Loop() {
		start := time.Now()
		var group sync.WaitGroup
		queue := make(chan int64)
		for range 64 {
			group.Go(func() {
				for range queue {
					action, _ := h.submit(template)
					h.record.awaitPhase(b, action, 1, state.Succeeded)
				}
			})
		}
		for i := range actions {
			queue <- int64(i)
		}
		close(queue)
		group.Wait()
		b.ReportMetric(float64(actions)/time.Since(start).Seconds(), "actions/s")
		b.ReportMetric(float64(h.counter.Writes("taskactions")+actions)/float64(actions), "TA-writes/action")
		b.ReportMetric(float64(h.counter.Writes("pods"))/float64(actions), "pod-writes/action")
	}
}
