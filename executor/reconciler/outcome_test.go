package reconciler

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/wrapperspb"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
)

// done is a plugin whose attempts have succeeded.
type done struct{}

func (done) Name() string                                  { return "done" }
func (done) Remove(context.Context, *plugin.Attempt) error { return nil }
func (done) Advance(context.Context, *plugin.Attempt) (plugin.State, error) {
	return plugin.State{Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED}, nil
}

// flaky is a store that does not answer when it is asked for a report.
type flaky struct {
	*plugintest.Blobs
	down bool
}

func (f *flaky) Stat(ctx context.Context, uri string) (blobstore.Info, error) {
	if f.down && strings.HasSuffix(uri, blobpath.ReportFile) {
		return blobstore.Info{}, errors.New("connection refused")
	}
	return f.Blobs.Stat(ctx, uri)
}

// TestASuccessKeepsItsReport: while the store does not say whether there is a report, the success is not reported without it.
func TestASuccessKeepsItsReport(t *testing.T) {
	store := &flaky{Blobs: &plugintest.Blobs{Objects: map[string][]byte{"/base/a0/1/" + blobpath.ReportFile: {}}}, down: true}
	registry, err := plugin.NewRegistry(plugin.Routes{Default: "done"}, done{})
	require.NoError(t, err)
	r, err := New(DefaultConfig(), Deps{Store: store, Plugins: registry, Clock: clock.NewFake(time.Unix(1000, 0))})
	require.NoError(t, err)
	template := &core.TaskTemplate{Metadata: &core.TaskMetadata{GeneratesDeck: wrapperspb.Bool(true)}}
	attempt := &plugin.Attempt{Task: &v1.TaskAction{}, Template: template, Number: 1, Dir: "/base/a0/1"}

	_, _, err = r.look(t.Context(), &entry{}, attempt)
	require.ErrorContains(t, err, "connection refused")
	store.down = false
	state, outputs, err := r.look(t.Context(), &entry{}, attempt)
	require.NoError(t, err)
	require.Equal(t, common.ActionPhase_ACTION_PHASE_SUCCEEDED, state.Phase)
	require.Equal(t, "/base/a0/1/"+blobpath.ReportFile, outputs.GetReportUri())
	require.Equal(t, "/base/a0/1/"+blobpath.OutputsFile, outputs.GetOutputUri())
}
