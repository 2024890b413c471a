package artifacts_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	projectpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
)

func TestAVersionIsCreatedOnceAndKeepsItsIdentity(t *testing.T) {
	w := newWorld(t)
	first := w.create("model", "1", about("framework", "torch"))
	require.Equal(t, "model", first.GetSpec().GetValue().GetArtifactId().GetKey().GetName())
	require.Equal(t, "1", first.GetSpec().GetValue().GetArtifactId().GetVersion())
	require.Equal(t, "anonymous", first.GetCreatedBy().GetUser().GetId().GetSubject())
	w.create("model", "2")

	_, err := w.client.CreateArtifact(t.Context(), request("model", "1"))
	refused(t, err, connect.CodeAlreadyExists, "version 1")
	got, err := w.get("model", "1")
	require.NoError(t, err)
	require.True(t, proto.Equal(first, got), "%v\n%v", first, got)
	for _, version := range []string{"", "latest"} {
		got, err = w.get("model", version)
		require.NoError(t, err)
		require.Equal(t, "2", got.GetArtifactId().GetVersion())
	}
	_, err = w.get("model", "3")
	refused(t, err, connect.CodeNotFound, "no version 3")
	_, err = w.get("other", "")
	refused(t, err, connect.CodeNotFound, "does not exist")
}

func TestArchivedProjectsAcceptNoArtifacts(t *testing.T) {
	w := newWorld(t)
	_, err := w.projects.UpdateProject(t.Context(), &projectpb.UpdateProjectRequest{
		Project: &projectpb.Project{Id: project, State: projectpb.ProjectState_PROJECT_STATE_ARCHIVED},
	})
	require.NoError(t, err)
	const words = "cannot create artifact version: project flytesnacks is archived"
	_, err = w.client.CreateArtifact(t.Context(), request("model", "1"))
	refused(t, err, connect.CodeFailedPrecondition, words)
	_, err = w.client.DeclareArtifact(t.Context(), &artifact.DeclareArtifactRequest{
		Name: name("model"), PartitionSchema: &artifact.ArtifactPartitionSchema{PartitionKeys: []string{"region"}},
	})
	refused(t, err, connect.CodeFailedPrecondition, words)
}

func TestConcurrentCreationsOfAVersionHaveOneWinner(t *testing.T) {
	w := newWorld(t)
	var group sync.WaitGroup
	codes := make([]connect.Code, 12)
	for i := range codes {
		group.Go(func() {
			_, err := w.client.CreateArtifact(t.Context(), request("model", fmt.Sprint(i/4), about("try", fmt.Sprint(i))))
			if err != nil {
				codes[i] = connect.CodeOf(err)
			}
		})
	}
	group.Wait()
	won := 0
	for _, code := range codes {
		if code == 0 {
			won++
		} else {
			require.Equal(t, connect.CodeAlreadyExists, code)
		}
	}
	require.Equal(t, 3, won)
	require.Equal(t, 3, w.count(`SELECT versions FROM artifact_names`))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM artifact_versions WHERE newest`))
	require.Equal(t, 3, w.count(`SELECT count(DISTINCT created_at) FROM artifact_versions`))
}

// TestPartitionsThatDoNotMatch: what was declared binds clients; without a declaration a difference is only noted.
func TestPartitionsThatDoNotMatch(t *testing.T) {
	w := newWorld(t)
	declare := func(artifactName string, time *artifact.TimePartitionKey, keys ...string) error {
		_, err := w.client.DeclareArtifact(t.Context(), &artifact.DeclareArtifactRequest{
			Name: name(artifactName), PartitionSchema: &artifact.ArtifactPartitionSchema{TimePartition: time, PartitionKeys: keys},
		})
		return err
	}
	daily := &artifact.TimePartitionKey{Key: "date", Granularity: core.Granularity_DAY}
	require.NoError(t, declare("events", daily, "region", "tier"))
	require.NoError(t, declare("events", daily, "tier", "region"), "the order of keys does not matter")
	refused(t, declare("events", daily, "region"), connect.CodeFailedPrecondition, `"tier"`)
	refused(t, declare("twice", nil, "a", "a"), connect.CodeInvalidArgument, "partition_schema.partition_keys[1]")
	refused(t, declare("both", daily, "date"), connect.CodeInvalidArgument, "partition_schema.time_partition.key")

	day := time.Date(2030, 5, 17, 13, 30, 0, 0, time.UTC)
	_, err := w.client.CreateArtifact(t.Context(), request("events", "1", with("region", "us")))
	refused(t, err, connect.CodeInvalidArgument, "spec.partitions")
	_, err = w.client.CreateArtifact(t.Context(), request("events", "1", with("region", "us", "tier", "a"), on(day, core.Granularity_HOUR)))
	refused(t, err, connect.CodeInvalidArgument, "spec.partitions")
	require.Zero(t, w.count(`SELECT count(*) FROM artifact_versions`), "nothing is left of a refused version")
	created := w.create("events", "1", with("region", "us", "tier", "a"), on(day, core.Granularity_DAY))
	require.Nil(t, created.GetPartitionSchemaMismatch())
	require.Equal(t, "2030-05-17T00:00:00Z", created.GetSpec().GetTimePartition().GetValue().GetTimeValue().AsTime().Format(time.RFC3339))

	w.create("free", "1", with("region", "us"))
	other := w.create("free", "2", with("zone", "a"))
	require.Equal(t, []string{"region"}, other.GetPartitionSchemaMismatch().GetExpected().GetPartitionKeys())
	require.Equal(t, []string{"zone"}, other.GetPartitionSchemaMismatch().GetActual().GetPartitionKeys())
	refused(t, declare("free", nil, "zone"), connect.CodeFailedPrecondition, `"region"`)
	require.NoError(t, declare("free", nil, "region"), "the first version had them")

	schema, err := w.client.GetArtifactSchema(t.Context(), &artifact.GetArtifactSchemaRequest{Name: name("events")})
	require.NoError(t, err)
	require.True(t, schema.GetDeclared())
	require.Equal(t, []string{"region", "tier"}, schema.GetPartitionSchema().GetPartitionKeys())
	_, err = w.client.GetArtifactSchema(t.Context(), &artifact.GetArtifactSchemaRequest{Name: name("nothing")})
	refused(t, err, connect.CodeNotFound, "nothing")
}

func TestBadVersionsAreRefused(t *testing.T) {
	w := newWorld(t)
	w.launch("known")
	elsewhere := w.blobs.Root() + "/other/development/x.0123456789abcdef/a0/1/file"
	cases := map[string]struct {
		request *artifact.CreateArtifactRequest
		field   string
	}{
		"no version":  {request("m", ""), "version"},
		"latest":      {request("m", "latest"), "artifact_id.version"},
		"a slash":     {request("a/b", "1"), "name"},
		"a long name": {request(strings.Repeat("x", 256), "1"), "name"},
		"no value":    {request("m", "1", func(r *artifact.CreateArtifactRequest) { r.Spec.Value = nil }), "value"},
		"a bound label": {request("m", "1", func(r *artifact.CreateArtifactRequest) {
			r.Spec.Partitions = &core.Partitions{Value: map[string]*core.LabelValue{"k": {Value: &core.LabelValue_RuntimeBinding{}}}}
		}), "spec.partitions"},
		"a time without granularity": {request("m", "1", on(time.Unix(0, 0), core.Granularity_UNSET)), "spec.time_partition.granularity"},
		"a long label":               {request("m", "1", with("k", strings.Repeat("x", 600))), "spec.partitions"},
		"an unknown run":             {request("m", "1", by("unknown", "a0")), "spec.source.task_action.action"},
		"an unknown action":          {request("m", "1", by("known", "a9")), "spec.source.task_action.action"},
		"data of others":             {request("m", "1", value(file(elsewhere))), "spec.value"},
		"data of others by a run":    {request("m", "1", by("known", "a0"), value(file(elsewhere))), "spec.value"},
		"a card of others": {request("m", "1", func(r *artifact.CreateArtifactRequest) {
			r.Spec.Info = &core.ArtifactInfo{Card: &core.ArtifactCard{Uri: elsewhere}}
		}), "spec.info.card.uri"},
		"a parent without version": {request("m", "1", from("p", "")), "spec.parent_artifacts[0].version"},
	}
	other := request("m", "1", by("known", "a0"))
	other.Spec.GetSource().GetTaskAction().GetAction().GetRun().Domain = "production"
	cases["an action of another domain"] = struct {
		request *artifact.CreateArtifactRequest
		field   string
	}{other, "spec.source.task_action.action.run"}
	for what, c := range cases {
		_, err := w.client.CreateArtifact(t.Context(), c.request)
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%s: %v", what, err)
		require.ErrorContains(t, err, c.field, what)
	}
	missing := request("m", "1")
	missing.ArtifactId.GetName().Project = "nowhere"
	_, err := w.client.CreateArtifact(t.Context(), missing)
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)
	require.Zero(t, w.count(`SELECT count(*) FROM artifact_names`))
	w.create("m", "1", value(file("s3://public/data")), from("p", "7"))
	w.create("m", "2", by("known", "a0"), value(file(w.dir("known", "a0")+"/x")))
}

func TestDeletingAVersionMakesTheOneBeforeTheNewest(t *testing.T) {
	w := newWorld(t)
	w.create("m", "1", with("region", "us"))
	w.create("m", "2", with("region", "us"))
	w.create("m", "3", with("region", "eu"))
	latest := func() []string {
		return w.list(&artifact.ListArtifactsRequest{Name: proto.String("m"), LatestPerPartition: true})
	}
	require.Equal(t, []string{"m@3", "m@2"}, latest())
	w.remove("m", "2")
	require.Equal(t, []string{"m@3", "m@1"}, latest())
	w.remove("m", "3")
	got, err := w.get("m", "")
	require.NoError(t, err)
	require.Equal(t, "1", got.GetArtifactId().GetVersion())
	_, err = w.client.DeleteArtifact(t.Context(), &artifact.DeleteArtifactRequest{ArtifactId: &artifact.ArtifactIdentifier{Name: name("m"), Version: "3"}})
	refused(t, err, connect.CodeNotFound, "version 3")
	w.remove("m", "1")
	_, err = w.client.GetArtifactSchema(t.Context(), &artifact.GetArtifactSchemaRequest{Name: name("m")})
	refused(t, err, connect.CodeNotFound, "m")
	for _, table := range []string{"names", "versions", "labels", "events", "data", "parents"} {
		require.Zero(t, w.count(`SELECT count(*) FROM artifact_`+table), table)
	}
}

func TestListsFilterAndPage(t *testing.T) {
	w := newWorld(t)
	day := func(n int) change { return on(time.Date(2030, 1, n, 5, 0, 0, 0, time.UTC), core.Granularity_DAY) }
	w.create("events", "1", day(1), with("region", "us"), about("flyte.io/kind", "data"))
	w.create("events", "2", day(1), with("region", "eu"), about("flyte.io/kind", "data"))
	w.create("events", "3", day(2), with("region", "us"), about("flyte.io/kind", "model"))
	w.create("events", "4", day(2), with("region", "us"), about("owner", "me"))
	w.create("model", "1", func(r *artifact.CreateArtifactRequest) {
		r.Spec.Source = &artifact.ArtifactSource{Source: &artifact.ArtifactSource_ExternalRef{ExternalRef: "hf://x"}}
	})
	events := proto.String("events")
	eq, in := common.Filter_EQUAL, common.Filter_VALUE_IN
	for _, c := range []struct {
		name   *string
		filter []*common.Filter
		latest bool
		want   []string
	}{
		{nil, nil, false, []string{"model@1", "events@4", "events@3", "events@2", "events@1"}},
		{events, nil, true, []string{"events@4", "events@2", "events@1"}},
		{events, []*common.Filter{where("partition.region", eq, "us")}, false, []string{"events@4", "events@3", "events@1"}},
		{events, []*common.Filter{where("partition.region", eq, "us")}, true, []string{"events@4", "events@1"}},
		{nil, []*common.Filter{where("partition.region", eq, "us"), where("user_metadata.flyte.io/kind", in, "data", "model")}, false, []string{"events@3", "events@1"}},
		{nil, []*common.Filter{where("user_metadata.owner", common.Filter_EXISTS)}, false, []string{"events@4"}},
		{events, []*common.Filter{where("user_metadata.flyte.io/kind", common.Filter_VALUE_NOT_IN, "data")}, false, []string{"events@4", "events@3"}},
		{events, []*common.Filter{where("time_partition", eq, "2030-01-01T00:00:00Z")}, false, []string{"events@2", "events@1"}},
		{events, []*common.Filter{
			where("time_partition", common.Filter_GREATER_THAN_OR_EQUAL, "2030-01-02T00:00:00Z"),
			where("time_partition", common.Filter_LESS_THAN_OR_EQUAL, "2030-01-31T00:00:00Z"),
			where("partition.region", in, "us"),
		}, true, []string{"events@4"}},
		{nil, []*common.Filter{where("source_external_ref", eq, "hf://x")}, false, []string{"model@1"}},
		{nil, []*common.Filter{where("name", common.Filter_CONTAINS, "od")}, false, []string{"model@1"}},
		{nil, []*common.Filter{where("partition.region", eq, "nowhere")}, false, []string{}},
		{proto.String("unknown"), nil, false, []string{}},
	} {
		require.Equal(t, c.want, w.list(&artifact.ListArtifactsRequest{Name: c.name, LatestPerPartition: c.latest, Request: filters(c.filter...)}), "%v", c.filter)
	}

	for _, filter := range [][]*common.Filter{nil, {where("partition.region", eq, "us")}} {
		var all []string
		token := ""
		for {
			response, err := w.client.ListArtifacts(t.Context(), &artifact.ListArtifactsRequest{
				ProjectId: here, Name: events, Request: &common.ListRequest{Limit: 1, Token: token, Filters: filter},
			})
			require.NoError(t, err)
			for _, one := range response.GetArtifacts() {
				all = append(all, one.GetArtifactId().GetVersion())
			}
			if token = response.GetToken(); token == "" {
				break
			}
		}
		want := []string{"4", "3", "2", "1"}
		if filter != nil {
			want = []string{"4", "3", "1"}
		}
		require.Equal(t, want, all)
	}

	for field, bad := range map[string]*common.ListRequest{
		"request.filters[1].field":      filters(where("partition.region", eq, "us"), where("nothing", eq, "1")),
		"request.filters[0].values":     filters(where("partition.region", eq)),
		"request.filters[0].field":      filters(where("partition.", eq, "x")),
		"request.filters[0].values[0]":  filters(where("time_partition", eq, "yesterday")),
		"request.token":                 {Token: "nonsense"},
		"request.sort_by_fields[0].key": {SortByFields: []*common.Sort{{Key: "spec"}}},
		"request.limit":                 {Limit: 100_000},
	} {
		_, err := w.client.ListArtifacts(t.Context(), &artifact.ListArtifactsRequest{ProjectId: here, Name: events, Request: bad})
		refused(t, err, connect.CodeInvalidArgument, field)
	}
}

func TestNamesKeysAndValues(t *testing.T) {
	w := newWorld(t)
	day := func(n int) change { return on(time.Date(2030, 1, n, 0, 0, 0, 0, time.UTC), core.Granularity_DAY) }
	w.create("events", "1", day(1), with("region", "us"), about("a", "1"))
	w.create("model", "1", about("b", "1"))
	w.create("events", "2", day(2), with("region", "eu"), about("c", "1"))
	w.create("events", "3", day(2), with("region", "us"))
	names, err := w.client.ListArtifactNames(t.Context(), &artifact.ListArtifactNamesRequest{ProjectId: here})
	require.NoError(t, err)
	require.Len(t, names.GetGroups(), 2)
	group := names.GetGroups()[0]
	require.Equal(t, "3", group.GetLatest().GetArtifactId().GetVersion())
	require.EqualValues(t, 3, group.GetVersions())
	require.Equal(t, "date", group.GetPartitionSchema().GetTimePartition().GetKey())
	require.Equal(t, 2, group.GetLatestTimePartition().AsTime().Day())
	require.Len(t, group.GetLatestPartitions(), 2)
	require.Equal(t, "us", group.GetLatestPartitions()[0].GetValue()["region"].GetStaticValue())
	first, err := w.client.ListArtifactNames(t.Context(), &artifact.ListArtifactNamesRequest{ProjectId: here, Request: &common.ListRequest{Limit: 1}})
	require.NoError(t, err)
	second, err := w.client.ListArtifactNames(t.Context(), &artifact.ListArtifactNamesRequest{ProjectId: here, Request: &common.ListRequest{Limit: 1, Token: first.GetToken()}})
	require.NoError(t, err)
	require.Equal(t, "model", second.GetGroups()[0].GetLatest().GetArtifactId().GetName().GetName())
	require.Empty(t, second.GetToken())

	keys, err := w.client.ListArtifactMetadataKeys(t.Context(), &artifact.ListArtifactMetadataKeysRequest{ProjectId: here})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, keys.GetKeys())
	keys, err = w.client.ListArtifactMetadataKeys(t.Context(), &artifact.ListArtifactMetadataKeysRequest{ProjectId: here, Name: proto.String("events")})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c"}, keys.GetKeys())

	values := func(key string, wanted ...*common.Filter) []string {
		response, err := w.client.ListPartitionValues(t.Context(), &artifact.ListPartitionValuesRequest{ProjectId: here, Name: "events", Key: key, Request: filters(wanted...)})
		require.NoError(t, err)
		return response.GetValues()
	}
	require.Equal(t, []string{"eu", "us"}, values("region"))
	require.Equal(t, []string{"us"}, values("region", where("time_partition", common.Filter_EQUAL, "2030-01-01T00:00:00Z")))
	require.Equal(t, []string{"2030-01-02T00:00:00Z", "2030-01-01T00:00:00Z"}, values("date"))
	require.Equal(t, []string{"2030-01-02T00:00:00Z"}, values("date", where("partition.region", common.Filter_EQUAL, "eu")))
	_, err = w.client.ListPartitionValues(t.Context(), &artifact.ListPartitionValuesRequest{ProjectId: here, Name: "events", Key: "zone"})
	refused(t, err, connect.CodeInvalidArgument, `artifact events has no partition key "zone"; it has the time key "date"`)
	_, err = w.client.ListPartitionValues(t.Context(), &artifact.ListPartitionValuesRequest{ProjectId: here, Name: "nothing", Key: "zone"})
	refused(t, err, connect.CodeNotFound, "nothing")
}

func TestEachVersionHasOneEvent(t *testing.T) {
	w := newWorld(t)
	mark := func() int64 {
		response, err := w.events.GetArtifactMark(t.Context(), &enginev1.GetArtifactMarkRequest{})
		require.NoError(t, err)
		return response.GetSeq()
	}
	list := func() []*enginev1.ArtifactEvent {
		response, err := w.events.ListArtifactEvents(t.Context(), &enginev1.ListArtifactEventsRequest{})
		require.NoError(t, err)
		return response.GetEvents()
	}
	require.Zero(t, mark())
	first := w.create("m", "1")
	between := mark()
	w.create("m", "2", with("region", "us"))
	_, err := w.client.CreateArtifact(t.Context(), request("m", "2"))
	require.Error(t, err)
	found := list()
	require.Len(t, found, 2)
	require.LessOrEqual(t, found[0].GetSeq(), between)
	require.Greater(t, found[1].GetSeq(), between)
	require.Equal(t, first.GetCreatedAt().AsTime(), found[0].GetCreatedAt().AsTime())
	require.Equal(t, map[string]string{"region": "us"}, found[1].GetPartitions())
	for range 2 {
		_, err = w.events.RemoveArtifactEvents(t.Context(), &enginev1.RemoveArtifactEventsRequest{Seqs: []int64{found[0].GetSeq()}})
		require.NoError(t, err)
	}
	found = list()
	require.Len(t, found, 1)
	require.Equal(t, "2", found[0].GetArtifact().GetVersion())
}
