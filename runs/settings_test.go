package runs_test

import (
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings/settingsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/queues"
)

func textSetting(value string) *settings.StringSetting {
	return &settings.StringSetting{State: settings.SettingState_SETTING_STATE_VALUE, StringValue: value}
}

func mapSetting(entries map[string]string) *settings.StringMapSetting {
	return &settings.StringMapSetting{State: settings.SettingState_SETTING_STATE_VALUE, MapValue: &settings.StringMap{Entries: entries}}
}

func quantitySetting(value string) *settings.QuantitySetting {
	return &settings.QuantitySetting{State: settings.SettingState_SETTING_STATE_VALUE, QuantityValue: value}
}

var (
	wholeKey   = &settings.SettingsKey{}
	domainKey  = &settings.SettingsKey{Domain: "development"}
	projectKey = &settings.SettingsKey{Org: "acme", Domain: "development", Project: "flytesnacks"}
)

func TestSettingsAreEditedByVersion(t *testing.T) {
	r := newReadFixture(t, nil)
	edit := func(key *settings.SettingsKey) []*settings.SettingsRecord {
		t.Helper()
		response, err := r.settings.GetSettingsForEdit(t.Context(), &settings.GetSettingsForEditRequest{Key: key})
		require.NoError(t, err)
		require.True(t, proto.Equal(key, response.GetRequestedKey()))
		return response.GetLevels()
	}
	levels := edit(projectKey)
	require.Len(t, levels, 3)
	for i, key := range []*settings.SettingsKey{{Org: "acme"}, {Org: "acme", Domain: "development"}, projectKey} {
		require.True(t, proto.Equal(&settings.SettingsRecord{Key: key, Settings: &settings.Settings{}}, levels[i]), "%v", levels[i])
	}
	require.Len(t, edit(wholeKey), 1)
	require.Len(t, edit(domainKey), 2)

	given := &settings.Settings{Run: &settings.RunSettings{DefaultQueue: textSetting("default")}}
	created, err := r.settings.CreateSettings(t.Context(), &settings.CreateSettingsRequest{Key: projectKey, Settings: given})
	require.NoError(t, err)
	require.Equal(t, uint64(1), created.GetSettingsRecord().GetVersion())
	_, err = r.settings.CreateSettings(t.Context(), &settings.CreateSettingsRequest{Key: projectKey, Settings: given})
	refused(t, err, connect.CodeAlreadyExists, "project flytesnacks in domain development")

	update := func(key *settings.SettingsKey, version uint64, s *settings.Settings) error {
		_, err := r.settings.UpdateSettings(t.Context(), &settings.UpdateSettingsRequest{Key: key, Version: version, Settings: s})
		return err
	}
	refused(t, update(projectKey, 0, given), connect.CodeInvalidArgument, "version")
	refused(t, update(domainKey, 1, given), connect.CodeNotFound, "domain development")
	require.NoError(t, update(projectKey, 1, &settings.Settings{PodTemplateName: textSetting("base")}))
	refused(t, update(projectKey, 1, given), connect.CodeFailedPrecondition, "version 2")
	levels = edit(projectKey)
	require.Equal(t, uint64(2), levels[2].GetVersion())
	require.Nil(t, levels[2].GetSettings().GetRun(), "an update replaces everything")
	require.Equal(t, "base", levels[2].GetSettings().GetPodTemplateName().GetStringValue())
}

func TestSettingsThatAreRefused(t *testing.T) {
	r := newReadFixture(t, func(c *runs.Config) { c.Queues = []queues.Queue{{Name: "gpu"}} })
	for name, tc := range map[string]struct {
		key      *settings.SettingsKey
		settings *settings.Settings
		code     connect.Code
		words    string
	}{
		"project without domain": {&settings.SettingsKey{Project: "flytesnacks"}, &settings.Settings{}, connect.CodeInvalidArgument, "key.domain"},
		"unknown domain":         {&settings.SettingsKey{Domain: "moon"}, &settings.Settings{}, connect.CodeNotFound, "moon"},
		"unknown project":        {&settings.SettingsKey{Domain: "development", Project: "nope"}, &settings.Settings{}, connect.CodeNotFound, "nope"},
		"no key":                 {nil, &settings.Settings{}, connect.CodeInvalidArgument, "key"},
		"no settings":            {wholeKey, nil, connect.CodeInvalidArgument, "settings"},
		"no queue": {wholeKey, &settings.Settings{Run: &settings.RunSettings{DefaultQueue: textSetting("nope")}},
			connect.CodeInvalidArgument, "settings.run.default_queue: queue nope does not exist"},
		"no quantity": {wholeKey, &settings.Settings{TaskResource: &settings.TaskResourceSettings{
			Max: &settings.TaskResourceDefaults{Memory: quantitySetting("lots")},
		}}, connect.CodeInvalidArgument, "settings.task_resource.max.memory"},
		"bounds": {wholeKey, &settings.Settings{TaskResource: &settings.TaskResourceSettings{
			Min: &settings.TaskResourceDefaults{Memory: quantitySetting("2Gi")}, Max: &settings.TaskResourceDefaults{Memory: quantitySetting("1Gi")},
		}}, connect.CodeInvalidArgument, "settings.task_resource.min.memory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.settings.CreateSettings(t.Context(), &settings.CreateSettingsRequest{Key: tc.key, Settings: tc.settings})
			refused(t, err, tc.code, tc.words)
		})
	}
	_, err := r.settings.GetSettings(t.Context(), &settings.GetSettingsRequest{Key: &settings.SettingsKey{Project: "flytesnacks"}})
	refused(t, err, connect.CodeInvalidArgument, "key.domain")
}

func TestABaseOutOfReachIsRefused(t *testing.T) {
	c := newWriteFixture(t, nil)
	_, err := c.settings.CreateSettings(t.Context(), &settings.CreateSettingsRequest{
		Key: projectKey, Settings: &settings.Settings{Run: &settings.RunSettings{RunBaseDir: textSetting("/elsewhere")}},
	})
	refused(t, err, connect.CodeInvalidArgument, "settings.run.run_base_dir")
}

func (c *writeFixture) set(key *settings.SettingsKey, given *settings.Settings) {
	c.t.Helper()
	response, err := c.settings.GetSettingsForEdit(c.t.Context(), &settings.GetSettingsForEditRequest{Key: key})
	require.NoError(c.t, err)
	levels := response.GetLevels()
	if version := levels[len(levels)-1].GetVersion(); version == 0 {
		_, err = c.settings.CreateSettings(c.t.Context(), &settings.CreateSettingsRequest{Key: key, Settings: given})
	} else {
		_, err = c.settings.UpdateSettings(c.t.Context(), &settings.UpdateSettingsRequest{Key: key, Settings: given, Version: version})
	}
	require.NoError(c.t, err)
}

// assigned is the run spec that the executor gets with an action.
func (c *writeFixture) assigned(run, action string) *enginev1.Assignment {
	c.t.Helper()
	var uid int64
	require.NoError(c.t, c.pool.QueryRow(c.t.Context(), `SELECT id FROM actions WHERE run_name = $1 AND name = $2`, run, action).Scan(&uid))
	response, err := c.engine.GetAssignments(c.t.Context(), &enginev1.GetAssignmentsRequest{Uids: []int64{uid}})
	require.NoError(c.t, err)
	require.Len(c.t, response.GetAssignments(), 1)
	return response.GetAssignments()[0]
}

// Story R20: settings were stored and applied to nothing.
func TestSettingsReachRootAndChildren(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.set(wholeKey, &settings.Settings{
		Labels: mapSetting(map[string]string{"team": "all", "cost": "1"}), Security: &settings.SecuritySettings{ServiceAccount: textSetting("tasks")},
	})
	c.set(projectKey, &settings.Settings{
		Run:    &settings.RunSettings{RunBaseDir: textSetting(c.blobs.Root() + "/_team"), DefaultQueue: textSetting("default")},
		Labels: mapSetting(map[string]string{"team": "ml"}), EnvironmentVariables: mapSetting(map[string]string{"LEVEL": "settings", "MODE": "settings"}),
		PodTemplateName: textSetting("base"),
	})
	request := namedRun("r1")
	request.RunSpec = &task.RunSpec{
		Labels: &task.Labels{Values: map[string]string{"own": "yes"}},
		Envs:   &task.Envs{Values: []*core.KeyValuePair{{Key: "MODE", Value: "run"}}},
	}
	c.create(request)
	c.report(transition("r1", "a0", 1, 4))
	c.child("r1", "a0", "b")
	for _, name := range []string{"a0", "b"} {
		assignment := c.assigned("r1", name)
		spec := assignment.GetRunSpec()
		require.Equal(t, map[string]string{"team": "ml", "cost": "1", "own": "yes"}, spec.GetLabels().GetValues())
		require.Equal(t, "tasks", spec.GetSecurityContext().GetRunAs().GetK8SServiceAccount())
		require.Equal(t, "base", spec.GetDefaultSettings().GetPodTemplateName())
		require.Equal(t, []string{"LEVEL=settings", "MODE=run"}, []string{
			spec.GetEnvs().GetValues()[0].GetKey() + "=" + spec.GetEnvs().GetValues()[0].GetValue(),
			spec.GetEnvs().GetValues()[1].GetKey() + "=" + spec.GetEnvs().GetValues()[1].GetValue(),
		})
		require.Regexp(t, `^`+c.blobs.Root()+`/_team/flytesnacks/development/r1\.[a-z2-7]{16}/$`, assignment.GetRunOutputBase())
	}
	var queue string
	require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT queue FROM actions WHERE run_name = 'r1' AND name = 'a0'`).Scan(&queue))
	require.Equal(t, "default", queue)
}

func TestARetriedRequestIsTheSameWhateverSettingsSay(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.set(projectKey, &settings.Settings{Labels: mapSetting(map[string]string{"team": "before"})})
	request := namedRun("r1")
	request.RunSpec = &task.RunSpec{Labels: &task.Labels{Values: map[string]string{"own": "yes"}}}
	first := c.create(request)
	c.set(projectKey, &settings.Settings{
		Labels: mapSetting(map[string]string{"team": "after"}), Run: &settings.RunSettings{RunBaseDir: textSetting(c.blobs.Root() + "/_new")},
	})
	again := c.create(request)
	require.True(t, proto.Equal(first.GetAction().GetId(), again.GetAction().GetId()))
	require.Equal(t, "before", c.assigned("r1", "a0").GetRunSpec().GetLabels().GetValues()["team"], "a run keeps what it began with")

	c.create(namedRun("r2"))
	require.Equal(t, "after", c.assigned("r2", "a0").GetRunSpec().GetLabels().GetValues()["team"], "one's own write is seen at once")
	require.True(t, strings.HasPrefix(c.assigned("r2", "a0").GetRunOutputBase(), c.blobs.Root()+"/_new/"))
}

func TestResolvedSettingsNameTheirLevel(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.set(wholeKey, &settings.Settings{Run: &settings.RunSettings{DefaultQueue: textSetting("default")}, PodTemplateName: textSetting("base")})
	c.set(domainKey, &settings.Settings{PodTemplateName: &settings.StringSetting{State: settings.SettingState_SETTING_STATE_UNSET}})
	response, err := c.settings.GetSettings(t.Context(), &settings.GetSettingsRequest{Key: projectKey})
	require.NoError(t, err)
	record := response.GetSettingsRecord()
	require.Zero(t, record.GetVersion(), "the project has none of its own")
	require.True(t, proto.Equal(&settings.Settings{
		Run: &settings.RunSettings{DefaultQueue: &settings.StringSetting{
			State: settings.SettingState_SETTING_STATE_VALUE, StringValue: "default", ScopeLevel: settings.ScopeLevel_SCOPE_LEVEL_ORG,
		}},
		PodTemplateName: &settings.StringSetting{
			State: settings.SettingState_SETTING_STATE_UNSET, ScopeLevel: settings.ScopeLevel_SCOPE_LEVEL_DOMAIN,
		},
	}, record.GetSettings()), "%v", record)
}

func TestAnotherReplicasSettingsAreSeenSoon(t *testing.T) {
	r := newReadFixture(t, nil)
	other, err := runs.New(runs.DefaultConfig(), runs.Deps{Pool: r.pool, Blobs: r.blobs, Clock: r.clock, Logger: zerolog.Nop()})
	require.NoError(t, err)
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	other.Mount(mux)
	elsewhere := settingsconnect.NewSettingsServiceClient(rpc.InProcess(mux), rpc.InProcessURL)
	name := func() string {
		response, err := r.settings.GetSettings(t.Context(), &settings.GetSettingsRequest{Key: projectKey})
		require.NoError(t, err)
		return response.GetSettingsRecord().GetSettings().GetPodTemplateName().GetStringValue()
	}
	require.Empty(t, name())
	_, err = elsewhere.CreateSettings(t.Context(), &settings.CreateSettingsRequest{Key: wholeKey, Settings: &settings.Settings{PodTemplateName: textSetting("base")}})
	require.NoError(t, err)
	require.Empty(t, name(), "the old value is cached for a moment")
	r.clock.Step(5 * time.Second)
	require.Equal(t, "base", name())
	r.clock.Step(-time.Hour)
	require.Equal(t, "base", name(), "a clock that steps back does not keep an old value forever")
}

func TestWrongDefaultsOfARunAreNamed(t *testing.T) {
	c := newWriteFixture(t, nil)
	request := namedRun("r1")
	request.RunSpec = &task.RunSpec{DefaultSettings: &task.DefaultSettings{TaskResourceDefaults: &task.TaskResourceDefaults{
		Max: []*core.Resources_ResourceEntry{{Name: core.Resources_CPU, Value: "lots"}},
	}}}
	_, err := c.runs.CreateRun(t.Context(), request)
	refused(t, err, connect.CodeInvalidArgument, "run_spec.default_settings.task_resource_defaults.max[0].value")
	_, err = c.runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
		Id: request.GetId(), Task: request.GetTask(),
		RunSpec: &task.RunSpec{DefaultSettings: &task.DefaultSettings{PodTemplateName: "A_B"}},
	})
	refused(t, err, connect.CodeInvalidArgument, "run_spec.default_settings.pod_template_name")
}
