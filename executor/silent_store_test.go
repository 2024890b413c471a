package executor_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/executor"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// silentStore is an empty object store over HTTP. It takes requests for the objects of some runs and does not answer
// them until answer is closed.
func silentStore(t *testing.T, silent *regexp.Regexp, answer chan struct{}) *blobstore.Store {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if silent.MatchString(r.URL.Path) {
			select {
			case <-answer:
			case <-r.Context().Done():
			}
		}
		w.WriteHeader(http.StatusNotFound)
		if r.Method != http.MethodHead {
			_, _ = io.WriteString(w, `<Error><Code>NoSuchKey</Code></Error>`)
		}
	}))
	t.Cleanup(server.Close)
	config := blobstore.DefaultConfig()
	config.URL = "s3://bucket/store"
	config.S3.Endpoint, config.S3.AccessKeyID, config.S3.SecretAccessKey = server.URL, "flyte", "flyteflyte"
	store, err := blobstore.Open(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// 38 objects that could not be read had stopped all work, with 32 workers.
func TestReadsThatHangDoNotStopOtherWork(t *testing.T) {
	const hanging = 6
	h := newHarness(t, kubetest.NodeOptions{SkipRunning: true}, func(c *executor.Config) {
		c.Reconciler.Workers, c.Logs.Seal = 2, false
	})
	h.stop(h.service)
	answer := make(chan struct{})
	h.store, h.root = silentStore(t, regexp.MustCompile(`/r[1-6]/`), answer), "s3://bucket/store"
	h.start()
	var stuck []ident.Action
	for range hanging {
		action, _ := h.submit(taskTemplate(withoutOutputs))
		stuck = append(stuck, action)
	}
	require.Eventually(t, func() bool { return h.node.Started() == hanging }, waitLimit, 5*time.Millisecond)
	fine, task := h.submit(taskTemplate(withoutOutputs))
	h.record.awaitPhase(t, fine, 1, state.Succeeded)
	require.Equal(t, "r7", task.Spec.Run)

	longest, found := h.service.Longest()
	require.True(t, found)
	require.Regexp(t, `^p/d/r[1-6]/a0$`, longest.Action)
	require.Regexp(t, `^reading s3://bucket/store/p/d/r[1-6]/a0/1/error.pb$`, longest.Doing)

	close(answer)
	for _, action := range stuck {
		h.record.awaitPhase(t, action, 1, state.Succeeded)
	}
}

// A link that a task leaves in the place of its outputs leads nowhere: the attempt ends, and is not judged forever.
func TestLinksAreNoOutputs(t *testing.T) {
	for name, target := range map[string]string{"out of the store": "/etc/hostname", "to itself": blobpath.OutputsFile, "to nothing": "nothing"} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, kubetest.NodeOptions{Program: func(_ context.Context, pod *corev1.Pod) kubetest.Result {
				if err := os.MkdirAll(outputDir(pod), 0o755); err != nil {
					panic(err)
				}
				if err := os.Symlink(target, outputDir(pod)+"/"+blobpath.OutputsFile); err != nil {
					panic(err)
				}
				return kubetest.Result{}
			}}, func(c *executor.Config) { c.Reconciler.MaxSystemFailures = 0 })
			action, task := h.submit(taskTemplate())
			h.record.awaitPhase(t, action, 1, state.Failed)
			h.awaitGone(task)
			failed := h.record.last(action).GetError()
			require.Equal(t, core.ExecutionError_USER, failed.GetKind())
			require.Equal(t, "OutputsMissing", failed.GetCode())
		})
	}
}
