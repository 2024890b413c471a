package apps_test

import (
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

func TestAnAppIsCreatedAndServes(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	created := f.create(command("web"))
	require.EqualValues(t, 1, created.GetMetadata().GetRevision())
	require.Equal(t, "PENDING", statusOf(created))
	require.Equal(t, "anonymous", created.GetSpec().GetCreator().GetUser().GetId().GetSubject())
	require.Equal(t, "http://localhost:8090/apps/flytesnacks/development/web", created.GetStatus().GetIngress().GetPublicUrl())

	d.eventually("web", "1:1 →0")
	desired := d.of("web").GetRevisions()[0]
	require.EqualValues(t, 8080, desired.GetPort())
	require.False(t, desired.GetTakesPort())
	require.True(t, proto.Equal(created.GetSpec(), desired.GetSpec()))

	d.report("web", replicas(1, 1, false))
	require.Equal(t, "DEPLOYING/INITIALIZING", f.status("web"))
	d.report("web", replicas(1, 1, true))
	require.Equal(t, "ACTIVE/RUNNING", f.status("web"))
	d.eventually("web", "1:1 →1")
	require.EqualValues(t, 1, f.get("web").GetStatus().GetCurrentReplicas())

	_, err := f.api.Create(t.Context(), &app.CreateRequest{App: command("web")})
	refused(t, err, connect.CodeAlreadyExists, "web already exists")
}

// TestAppsArePutWhereTheyMayBe creates apps where there is no place for them.
func TestAppsArePutWhereTheyMayBe(t *testing.T) {
	f := newFixture(t, nil)
	for _, c := range []struct {
		project, domain string
		code            connect.Code
		text            string
	}{
		{archivedID, domainID, connect.CodeFailedPrecondition, "cannot create app: project attic is archived"},
		{"none", domainID, connect.CodeNotFound, "project none does not exist"},
		{projectID, "staging", connect.CodeNotFound, "project flytesnacks has no domain staging"},
	} {
		request := command("web")
		request.GetMetadata().GetId().Project, request.GetMetadata().GetId().Domain = c.project, c.domain
		_, err := f.api.Create(t.Context(), &app.CreateRequest{App: request})
		refused(t, err, c.code, c.text)
	}
}

// TestAWatcherSeesTheAppStart does what the SDK does after it has deployed an app: it reads updates alone.
func TestAWatcherSeesTheAppStart(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	f.create(command("web"))
	stream, err := f.api.Watch(t.Context(), &app.WatchRequest{Target: &app.WatchRequest_AppId{AppId: id("web")}})
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // nothing is written
	next := func() string {
		for stream.Receive() {
			if update := stream.Msg().GetUpdateEvent(); update != nil {
				return statusOf(update.GetUpdatedApp())
			}
			if stream.Msg().GetDeleteEvent() != nil {
				return "deleted"
			}
		}
		require.NoError(t, stream.Err())
		return "the end"
	}
	require.Equal(t, "PENDING", next())
	d.eventually("web", "1:1 →0")
	d.report("web", replicas(1, 1, true))
	require.Equal(t, "ACTIVE/RUNNING", next())
	_, err = f.api.Delete(t.Context(), &app.DeleteRequest{AppId: id("web")})
	require.NoError(t, err)
	require.Equal(t, "deleted", next())
	require.Equal(t, "the end", next())
	d.eventually("web", "nothing")
}

func TestAnotherSpecIsAnotherRevision(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	first := command("web")
	first.GetSpec().GetContainer().Command = []string{"fserve", "--tgz", "s3://b/code.tgz", "--"}
	first.Metadata.SourceCode = &task.SourceCode{Link: "https://git.example/x"}
	created := f.create(first)
	require.Equal(t, "s3://b/code.tgz", created.GetMetadata().GetCodeBundleUri())
	d.eventually("web", "1:1 →0")
	d.report("web", replicas(1, 1, true))

	// The same again, as the SDK sends it: nothing changes.
	again := proto.CloneOf(f.get("web"))
	again.Metadata = &app.Meta{Id: id("web"), Revision: 1, Labels: again.GetMetadata().GetLabels()}
	before := f.get("web")
	require.True(t, proto.Equal(before, f.update(again)))
	require.True(t, proto.Equal(before, f.get("web")))

	// Another environment: the status is no longer ACTIVE when the answer comes.
	again.Spec = command("web", "A", "1").GetSpec()
	again.Spec.Creator = &common.EnrichedIdentity{Principal: &common.EnrichedIdentity_User{User: &common.User{Id: &common.UserIdentifier{Subject: "somebody else"}}}}
	updated := f.update(again)
	require.EqualValues(t, 2, updated.GetMetadata().GetRevision())
	require.Equal(t, "PENDING", statusOf(updated))
	require.Equal(t, "s3://b/code.tgz", updated.GetMetadata().GetCodeBundleUri(), "kept")
	require.Equal(t, "https://git.example/x", updated.GetMetadata().GetSourceCode().GetLink(), "kept")
	require.True(t, proto.Equal(created.GetSpec().GetCreator(), updated.GetSpec().GetCreator()), "nobody can be made its creator")
	_, err := f.api.Update(t.Context(), &app.UpdateRequest{App: again})
	refused(t, err, connect.CodeAborted, "at revision 2")

	d.eventually("web", "1:1 2:1 →1")
	d.report("web", replicas(1, 1, true), replicas(2, 1, true))
	require.Equal(t, "ACTIVE/RUNNING", f.status("web"))
	d.eventually("web", "1:1 2:1 →2")
	f.pass(10 * time.Second)
	d.eventually("web", "2:1 →2")
}

func TestAnAppIsStoppedAndStarted(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	f.create(command("web"))
	d.eventually("web", "1:1 →0")
	d.report("web", replicas(1, 1, true))
	d.eventually("web", "1:1 →1")
	stopped := f.get("web")
	stopped.Spec.DesiredState = app.Spec_DESIRED_STATE_STOPPED
	answer, err := f.api.Update(t.Context(), &app.UpdateRequest{App: stopped, Reason: "not needed"})
	require.NoError(t, err)
	require.EqualValues(t, 1, answer.GetApp().GetMetadata().GetRevision())
	require.Equal(t, "DEPLOYING/SCALING_DOWN", statusOf(answer.GetApp()))
	require.Equal(t, "the app is being stopped (not needed)", f.message("web"))
	d.eventually("web", "→0")
	d.report("web")
	require.Equal(t, "STOPPED", f.status("web"))

	started := f.get("web")
	started.Spec.DesiredState = app.Spec_DESIRED_STATE_STARTED // what the SDK sends
	require.Equal(t, app.Spec_DESIRED_STATE_ACTIVE, f.update(started).GetSpec().GetDesiredState())
	d.eventually("web", "1:1 →1")
	d.report("web", replicas(1, 1, true))
	require.Equal(t, "ACTIVE/RUNNING", f.status("web"))
}

func TestAFailedRevisionIsTriedAgain(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	f.create(command("web"))
	d.eventually("web", "1:1 →0")
	d.report("web", replicas(1, 1, true))
	f.update(command("web", "A", "1"))
	d.eventually("web", "1:1 2:1 →1")
	d.report("web", replicas(1, 1, true), failing(2, "no such image"))
	require.Equal(t, "FAILED/IMAGE_PULL_ERROR", f.status("web"))
	d.eventually("web", "1:1 →1")

	revisions, err := f.insight.ListRevisions(t.Context(), &insightv1.ListRevisionsRequest{AppId: id("web"), Limit: 1})
	require.NoError(t, err)
	require.Equal(t, insightv1.AppRevisionState_APP_REVISION_STATE_FAILED, revisions.GetRevisions()[0].GetState())
	require.Equal(t, "no such image", revisions.GetRevisions()[0].GetMessage())
	revisions, err = f.insight.ListRevisions(t.Context(), &insightv1.ListRevisionsRequest{AppId: id("web"), Limit: 1, Token: revisions.GetToken()})
	require.NoError(t, err)
	require.Equal(t, insightv1.AppRevisionState_APP_REVISION_STATE_SERVING, revisions.GetRevisions()[0].GetState())
	require.Empty(t, revisions.GetToken())

	require.EqualValues(t, 3, f.update(command("web", "A", "1")).GetMetadata().GetRevision(), "the same spec, once more")
	rolled, err := f.insight.RollBack(t.Context(), &insightv1.RollBackRequest{AppId: id("web"), Revision: 1, Reason: "it worked"})
	require.NoError(t, err)
	require.EqualValues(t, 4, rolled.GetApp().GetMetadata().GetRevision())
	require.Empty(t, rolled.GetApp().GetSpec().GetContainer().GetEnv())
	d.eventually("web", "1:1 4:1 →1")
	_, err = f.insight.RollBack(t.Context(), &insightv1.RollBackRequest{AppId: id("web"), Revision: 9})
	refused(t, err, connect.CodeNotFound, "no revision 9")
	revisions, err = f.insight.ListRevisions(t.Context(), &insightv1.ListRevisionsRequest{AppId: id("web")})
	require.NoError(t, err)
	require.Len(t, revisions.GetRevisions(), 4)
	require.EqualValues(t, 1, revisions.GetRevisions()[0].GetRestores())
	require.Equal(t, insightv1.AppRevisionState_APP_REVISION_STATE_REPLACED, revisions.GetRevisions()[1].GetState())

	events, err := f.insight.ListAppEvents(t.Context(), &insightv1.ListAppEventsRequest{AppId: id("web"), Limit: 2})
	require.NoError(t, err)
	require.Len(t, events.GetEvents(), 2)
	require.EqualValues(t, 4, events.GetEvents()[0].GetRevision())
	require.Equal(t, "anonymous", events.GetEvents()[0].GetActor().GetUser().GetId().GetSubject())
	require.NotEmpty(t, events.GetToken())
	_, err = f.insight.ListAppEvents(t.Context(), &insightv1.ListAppEventsRequest{AppId: id("web"), Token: "x"})
	refused(t, err, connect.CodeInvalidArgument, "token")
}

func TestGetByAddress(t *testing.T) {
	f := newFixture(t, nil)
	web := command("web")
	web.Spec.Ingress = &app.IngressConfig{Subdomain: "my-web", Cname: "web.example.com"}
	f.create(web)
	for _, address := range []string{
		"http://localhost:8090/apps/flytesnacks/development/web", "http://localhost:8090/apps/flytesnacks/development/web/a?b",
		"http://my-web.localhost:8090", "https://WEB.example.com/x",
	} {
		found, err := f.api.Get(t.Context(), &app.GetRequest{Identifier: &app.GetRequest_Ingress{Ingress: &app.Ingress{PublicUrl: address}}})
		require.NoError(t, err, address)
		require.Equal(t, "web", found.GetApp().GetMetadata().GetId().GetName())
	}
	for _, address := range []string{"http://localhost:8090/apps/flytesnacks/development/other", "http://other.localhost:8090", "http://other.example.com"} {
		_, err := f.api.Get(t.Context(), &app.GetRequest{Identifier: &app.GetRequest_Ingress{Ingress: &app.Ingress{PublicUrl: address}}})
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), address)
	}
	other := command("other")
	other.Spec.Ingress = &app.IngressConfig{Subdomain: "my-web"}
	_, err := f.api.Create(t.Context(), &app.CreateRequest{App: other})
	refused(t, err, connect.CodeAlreadyExists, "subdomain my-web is used by another app")
	other.Spec.Ingress = &app.IngressConfig{Cname: "web.example.com"}
	_, err = f.api.Create(t.Context(), &app.CreateRequest{App: other})
	refused(t, err, connect.CodeAlreadyExists, "host name web.example.com is used by another app")
	other.Spec.Ingress = nil
	require.NotNil(t, f.create(other).GetSpec().GetIngress(), "the SDK expects it")
	other.Spec.Ingress = &app.IngressConfig{Cname: "web.example.com"}
	_, err = f.api.Update(t.Context(), &app.UpdateRequest{App: other})
	refused(t, err, connect.CodeAlreadyExists, "host name web.example.com is used by another app")
}

func TestList(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	for i := range 5 {
		a := command(fmt.Sprintf("web-%d", i))
		a.Spec.Inputs = &app.InputList{Items: []*app.Input{{Name: "model", Value: &app.Input_ArtifactId{ArtifactId: &core.ArtifactVersionId{
			Key: &core.ArtifactKey{Project: projectID, Domain: domainID, Name: "model"}, Version: fmt.Sprintf("v%d", i%2),
		}}}}}
		f.create(a)
		f.clock.Step(time.Second)
	}
	d.eventually("web-3", "1:1 →0")
	d.report("web-3", replicas(1, 1, true))
	here := &app.ListRequest_Project{Project: &common.ProjectIdentifier{Name: projectID, Domain: domainID}}
	names := func(r *app.ListRequest) (names []string) {
		r.IncludeTotalCount = true
		for {
			answer, err := f.api.List(t.Context(), r)
			require.NoError(t, err)
			for _, a := range answer.GetApps() {
				names = append(names, a.GetMetadata().GetId().GetName())
			}
			if r.Request == nil || answer.GetToken() == "" {
				require.Len(t, names, int(answer.GetTotalCount()))
				return names
			}
			r.Request.Token = answer.GetToken()
		}
	}
	oldest := []*common.Sort{{Key: "created_at", Direction: common.Sort_ASCENDING}}
	require.Equal(t, []string{"web-0", "web-1", "web-2", "web-3", "web-4"},
		names(&app.ListRequest{FilterBy: here, Request: &common.ListRequest{Limit: 2, SortByFields: oldest}}))
	active := &common.Filter{Function: common.Filter_VALUE_IN, Field: "status_phase", Values: []string{"DEPLOYMENT_STATUS_ACTIVE", "DEPLOYMENT_STATUS_FAILED"}}
	require.Equal(t, []string{"web-3"}, names(&app.ListRequest{FilterBy: here, Request: &common.ListRequest{Filters: []*common.Filter{active}}}))
	mine := &common.Filter{Field: "created_by", Values: []string{"anonymous"}}
	require.Len(t, names(&app.ListRequest{FilterBy: here, Request: &common.ListRequest{Filters: []*common.Filter{mine}}}), 5)
	named := &common.Filter{Function: common.Filter_CONTAINS_CASE_INSENSITIVE, Field: "name", Values: []string{"B-2"}}
	require.Equal(t, []string{"web-2"}, names(&app.ListRequest{FilterBy: here, Request: &common.ListRequest{Filters: []*common.Filter{named}}}))
	model := &app.ConsumedArtifactFilter{Project: projectID, Domain: domainID, Name: "model"}
	require.Len(t, names(&app.ListRequest{FilterBy: &app.ListRequest_Artifact{Artifact: model}}), 5)
	model.Version = "v1"
	require.Equal(t, []string{"web-3", "web-1"}, names(&app.ListRequest{FilterBy: &app.ListRequest_Artifact{Artifact: model}}))
	require.Len(t, names(&app.ListRequest{FilterBy: &app.ListRequest_Org{Org: "any"}}), 5)
	require.Empty(t, names(&app.ListRequest{FilterBy: &app.ListRequest_ClusterId{ClusterId: &common.ClusterIdentifier{Name: "other"}}}))

	explained, err := f.insight.ExplainApp(t.Context(), &insightv1.ExplainAppRequest{AppId: id("web-1")})
	require.NoError(t, err)
	require.Equal(t, "flyte://artifacts/flytesnacks/development/model@v1", explained.GetUses()[0].GetArtifactUri())
}

// TestAnAppThatDoesNotStartIsNotStarting: its page says that it has failed, and its replicas say nothing else.
func TestAnAppThatDoesNotStartIsNotStarting(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	f.create(command("web"))
	d.eventually("web", "1:1 →0")
	explain := func() string {
		explained, err := f.insight.ExplainApp(t.Context(), &insightv1.ExplainAppRequest{AppId: id("web")})
		require.NoError(t, err)
		return explained.GetWantedBecause()
	}
	require.Equal(t, "revision 1 is starting", explain())
	d.report("web", failing(1, "it breaks"))
	require.Equal(t, "revision 1 does not start; its container is started again and again", explain())
}
