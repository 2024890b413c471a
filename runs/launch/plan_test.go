package launch_test

import (
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs/cachelink"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

func TestQueueOfAChild(t *testing.T) {
	configured := []queues.Queue{{Name: "gpu"}, {Name: "closed", Projects: []string{"other"}}}
	for name, tc := range map[string]struct{ own, run, want, refused string }{
		"none":                       {},
		"its own":                    {own: "gpu", run: "default", want: "gpu"},
		"that of its run":            {run: "gpu", want: "gpu"},
		"unknown":                    {own: "none", refused: "queue none does not exist"},
		"of another project":         {own: "closed", refused: "queue closed does not accept runs of project p"},
		"that of its run, long gone": {own: "gone", run: "gone", want: "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.context.Queue = tc.run
			r := child(&workflow.TaskAction{Spec: taskSpec()})
			r.GetTask().Queue = tc.own
			if tc.refused == "" {
				require.Equal(t, tc.want, w.recorded(t, r, configured...).Queue)
				return
			}
			response, err := w.parts(configured...).Recorder.RecordAction(t.Context(), r)
			require.NoError(t, err)
			require.Contains(t, response.GetStatus().GetMessage(), tc.refused)
			require.Empty(t, w.actions)
		})
	}
}

// TestChildrenThatNoPodCouldBeAreRefused: a parent learns at once why its child cannot run.
func TestChildrenThatNoPodCouldBeAreRefused(t *testing.T) {
	large := strings.Repeat("x", 700<<10)
	for words, tc := range map[string]struct {
		task *task.TaskSpec
		run  *task.RunSpec
	}{
		"task.spec.task_template.container.env[0].key: ": {task: taskSpec(withVariable("a=b", "x"))},
		"task.spec.task_template.metadata.metadata.labels[\"team\"]: ": {task: taskSpec(func(t *core.TaskTemplate) {
			t.Metadata.Metadata = &core.K8SObjectMetadata{Labels: map[string]string{"team": "not a value"}}
		})},
		"task.spec.task_template: the objects of Kubernetes": {
			task: taskSpec(withVariable("A", large)),
			run:  &task.RunSpec{Envs: &task.Envs{Values: []*core.KeyValuePair{{Key: "B", Value: large}}}},
		},
	} {
		w := newWorld()
		w.spec = tc.run
		response, err := w.parts().Recorder.RecordAction(t.Context(), child(&workflow.TaskAction{Spec: tc.task}))
		require.NoError(t, err)
		require.EqualValues(t, connect.CodeInvalidArgument, response.GetStatus().GetCode())
		require.Contains(t, response.GetStatus().GetMessage(), words)
		require.Empty(t, w.actions)
	}
}

func TestCacheOfAChild(t *testing.T) {
	discoverable := func(t *core.TaskTemplate) { t.Metadata.Discoverable = true }
	serial := func(t *core.TaskTemplate) { t.Metadata.CacheSerializable = true }
	overwrite := &task.RunSpec{CacheConfig: &task.CacheConfig{OverwriteCache: true}}
	for name, tc := range map[string]struct {
		key    string
		spec   *task.TaskSpec
		run    *task.RunSpec
		off    bool
		hold   schema.Hold
		reason string
		stored string
	}{
		"no key":                       {spec: taskSpec(discoverable)},
		"a key alone":                  {key: "k", spec: taskSpec()},
		"looked up":                    {key: "k", spec: taskSpec(discoverable), hold: schema.HoldCache, stored: "k"},
		"off":                          {key: "k", spec: taskSpec(discoverable), off: true, reason: cachelink.ReasonOff, stored: "k"},
		"overwritten":                  {key: "k", spec: taskSpec(discoverable), run: overwrite, reason: cachelink.ReasonOverwrite, stored: "k"},
		"overwritten by one at a time": {key: "k", spec: taskSpec(discoverable, serial), run: overwrite, hold: schema.HoldReservation, reason: cachelink.ReasonOverwrite, stored: "k"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.cacheOn = !tc.off
			w.spec = tc.run
			a := w.recorded(t, child(&workflow.TaskAction{Spec: tc.spec, CacheKey: wrapperspb.String(tc.key)}))
			require.Equal(t, tc.hold, a.Hold)
			require.Equal(t, tc.reason, a.CacheReason)
			require.Equal(t, tc.stored, a.CacheKey)
		})
	}
}

func TestRunnerAndLimitsOfAChild(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*core.TaskTemplate)
		runner schema.Runner
		limits schema.Limits
	}{
		"python":   {func(*core.TaskTemplate) {}, schema.RunnerExecutor, schema.Limits{}},
		"built in": {func(t *core.TaskTemplate) { t.Type = "core-sleep" }, schema.RunnerBuiltin, schema.Limits{}},
		"timeouts": {func(t *core.TaskTemplate) {
			t.Metadata.Timeouts = &core.TimeoutStrategy{QueuedTimeout: durationpb.New(time.Minute), Deadline: durationpb.New(time.Hour)}
		}, schema.RunnerExecutor, schema.Limits{Queued: time.Minute, Deadline: time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newWorld().recorded(t, child(&workflow.TaskAction{Spec: taskSpec(tc.change)}))
			require.Equal(t, tc.runner, a.Runner)
			require.Equal(t, tc.limits, a.Limits)
		})
	}
}
