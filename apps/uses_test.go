package apps_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/apps/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// output is the URI of a file that an action of a run wrote.
func output(run, action string) string {
	dir := blobpath.RunBase("s3://bucket/root", projectID, domainID, blobpath.RunDir(run, []byte(run)))
	return blobpath.AttemptDir(dir, action, 1) + "/abc/model.bin"
}

// using is an app with these texts as its inputs: pairs of a name and a value.
func using(name string, pairs ...string) *app.App {
	a := command(name)
	a.Spec.Inputs = &app.InputList{}
	for i := 0; i < len(pairs); i += 2 {
		a.Spec.Inputs.Items = append(a.Spec.Inputs.Items, &app.Input{Name: pairs[i], Value: &app.Input_StringValue{StringValue: pairs[i+1]}})
	}
	return a
}

func runID(name string) *common.RunIdentifier {
	return &common.RunIdentifier{Org: "o", Project: projectID, Domain: domainID, Name: name}
}

// users are the apps of a run on all pages, such as "web: model=a0".
func (f *fixture) users(run string, limit uint32) (found []string) {
	f.t.Helper()
	r := &insightv1.ListAppsOfRunRequest{RunId: runID(run), Limit: limit}
	for {
		answer, err := f.insight.ListAppsOfRun(f.t.Context(), r)
		require.NoError(f.t, err)
		for _, one := range answer.GetApps() {
			text := one.GetApp().GetMetadata().GetId().GetName() + ":"
			for _, use := range one.GetUses() {
				require.Equal(f.t, run, use.GetActionId().GetRun().GetName())
				text += " " + use.GetInput() + "=" + use.GetActionId().GetName()
			}
			found = append(found, text)
		}
		if r.Token = answer.GetToken(); r.Token == "" {
			return found
		}
	}
}

// TestAppsOfARun: an app is found by the runs whose outputs its newest revision has, until it is deployed without them.
func TestAppsOfARun(t *testing.T) {
	f := newFixture(t, nil)
	for i := range 5 {
		f.create(using(fmt.Sprintf("web-%d", i), "model", output(fmt.Sprintf("r%d", i%2), "a0"), "greeting", "good day"))
	}
	require.Equal(t, []string{"web-4: model=a0", "web-2: model=a0", "web-0: model=a0"}, f.users("r0", 2))
	require.Equal(t, []string{"web-3: model=a0", "web-1: model=a0"}, f.users("r1", 2))
	require.Equal(t, f.users("r0", 0), f.users("r0", 3))
	require.Empty(t, f.users("r2", 0))
	require.Empty(t, f.users("r", 0))

	f.update(using("web-0", "model", output("r2", "e7"), "config", output("r2", "a0"), "old", output("r1", "a0")))
	require.Equal(t, []string{"web-4: model=a0", "web-2: model=a0"}, f.users("r0", 0))
	require.Equal(t, []string{"web-3: model=a0", "web-1: model=a0", "web-0: old=a0"}, f.users("r1", 0))
	require.Equal(t, []string{"web-0: model=e7 config=a0"}, f.users("r2", 0))
	explained, err := f.insight.ExplainApp(t.Context(), &insightv1.ExplainAppRequest{AppId: id("web-0")})
	require.NoError(t, err)
	require.Equal(t, "e7", explained.GetUses()[0].GetActionId().GetName())
	require.Equal(t, output("r2", "e7"), explained.GetUses()[0].GetValue())

	stopped := using("web-4", "model", output("r0", "a0"), "greeting", "good day")
	stopped.Spec.DesiredState = app.Spec_DESIRED_STATE_STOPPED
	f.update(stopped)
	require.Equal(t, []string{"web-4: model=a0", "web-2: model=a0"}, f.users("r0", 0), "a stopped app still uses what it is deployed with")

	_, err = f.insight.RollBack(t.Context(), &insightv1.RollBackRequest{AppId: id("web-0"), Revision: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"web-4: model=a0", "web-2: model=a0", "web-0: model=a0"}, f.users("r0", 0))
	require.Empty(t, f.users("r2", 0))
	_, err = f.api.Delete(t.Context(), &app.DeleteRequest{AppId: id("web-2")})
	require.NoError(t, err)
	require.Equal(t, []string{"web-4: model=a0", "web-0: model=a0"}, f.users("r0", 0))
}

func TestAppsOfARunThatAreNotListed(t *testing.T) {
	f := newFixture(t, nil)
	f.create(using("text", "words", strings.TrimPrefix(output("r", "a0"), "s3://"), "upload", "s3://bucket/uploads/flytesnacks/development/abc/x/y/z"))
	require.Empty(t, f.users("r", 0))
	f.create(using("web", "model", output("r", "a0")))
	_, err := f.insight.ListAppsOfRun(t.Context(), &insightv1.ListAppsOfRunRequest{RunId: &common.RunIdentifier{Org: "o", Project: projectID, Name: "r"}})
	refused(t, err, connect.CodeInvalidArgument, "run_id")
	_, err = f.insight.ListAppsOfRun(t.Context(), &insightv1.ListAppsOfRunRequest{RunId: runID("r"), Token: "x"})
	refused(t, err, connect.CodeInvalidArgument, "token")
	_, err = f.insight.ListAppsOfRun(t.Context(), &insightv1.ListAppsOfRunRequest{RunId: runID("r"), Limit: 201})
	refused(t, err, connect.CodeInvalidArgument, "limit")
	other, err := f.insight.ListAppsOfRun(t.Context(), &insightv1.ListAppsOfRunRequest{RunId: &common.RunIdentifier{
		Org: "o", Project: projectID, Domain: "production", Name: "r",
	}})
	require.NoError(t, err)
	require.Empty(t, other.GetApps())

	rows := store.New(f.pool, clock.System{})
	run := ident.Run{Project: projectID, Domain: domainID, Name: "r"}
	for scope, seen := range map[authz.Place]int{{Project: projectID}: 1, {Project: projectID, Domain: "production"}: 0, {Project: "other"}: 0} {
		found, err := rows.OfRun(authz.WithScope(t.Context(), authz.Scope{Places: []authz.Place{scope}}), run, 0, 10)
		require.NoError(t, err)
		require.Len(t, found, seen, "%v", scope)
	}
}

// TestUsesOfAppsInOneCall: of versions and of runs, newest apps first.
func TestUsesOfAppsInOneCall(t *testing.T) {
	f := newFixture(t, nil)
	uses := enginev1connect.NewAppUseServiceClient(rpc.InProcess(f.mux), rpc.InProcessURL)
	version := &core.ArtifactVersionId{Key: &core.ArtifactKey{Project: projectID, Domain: domainID, Name: "model"}, Version: "1"}
	for i := range 3 {
		a := using(fmt.Sprintf("web-%d", i), "model", output("r", "a0"), "again", output("r", "a0"))
		a.Spec.Inputs.Items = append(a.Spec.Inputs.Items, &app.Input{Name: "artifact", Value: &app.Input_ArtifactId{ArtifactId: version}})
		f.create(a)
	}
	list := func(r *enginev1.ListAppUsesRequest) (found []string) {
		answer, err := uses.ListAppUses(t.Context(), r)
		require.NoError(t, err)
		for _, use := range answer.GetArtifacts() {
			found = append(found, use.GetArtifact().GetKey().GetName()+"@"+use.GetArtifact().GetVersion()+" "+use.GetAppId().GetName())
		}
		for _, use := range answer.GetRuns() {
			found = append(found, use.GetRun().GetName()+"() "+use.GetAppId().GetName())
		}
		return found
	}
	unknown := &core.ArtifactVersionId{Key: version.GetKey(), Version: "2"}
	require.Equal(t, []string{"model@1 web-2", "model@1 web-1", "r() web-2", "r() web-1"}, list(&enginev1.ListAppUsesRequest{
		Artifacts: []*core.ArtifactVersionId{unknown, version, version}, Runs: []*common.RunIdentifier{runID("r"), runID("r2"), runID("r")}, Limit: 2,
	}))
	require.Len(t, list(&enginev1.ListAppUsesRequest{Runs: []*common.RunIdentifier{runID("r")}}), 3)
	require.Empty(t, list(&enginev1.ListAppUsesRequest{}))
}

// TestOlderAppsAreFoundByTheirRuns: the migration reads the specs of apps that were deployed before.
func TestOlderAppsAreFoundByTheirRuns(t *testing.T) {
	f := newFixture(t, nil)
	long := strings.Repeat("d/", 100) // its length takes two bytes
	f.create(using("marked", "model", output("r1", "a0"), "next", output("r2", "e1"), "again", output("r2", "a0"), "größe", "ü\\\n"))
	f.create(using("elsewhere", "model", strings.Replace(output("r3", "a0"), projectID, "other", 1)+"/"+long))
	f.create(using("raw", "model", blobpath.RunBase("s3://raw/1/2", projectID, domainID, "r4")+"a0/1/x", "other", "s3://raw/p/d/r5/a0/1/x"))
	f.create(using("none", "greeting", "good day"))
	stored := func() []string {
		rows, err := f.pool.Query(t.Context(), `SELECT concat_ws(' ', a.name, u.project, u.domain, u.run) FROM app_runs u JOIN apps a ON a.id = u.app_id ORDER BY 1`)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return lines
	}
	before := stored()
	require.Equal(t, []string{
		"elsewhere other development r3", "marked flytesnacks development r1", "marked flytesnacks development r2", "raw flytesnacks development r4",
	}, before)
	for version := int64(0); version != 3; { // later ones first
		var err error
		version, err = pgdb.MigrateDown(t.Context(), f.pool, store.Schema())
		require.NoError(t, err)
		require.GreaterOrEqual(t, version, int64(3))
	}
	require.NoError(t, pgdb.Migrate(t.Context(), f.pool, store.Schema()))
	require.Equal(t, before, stored())
}
