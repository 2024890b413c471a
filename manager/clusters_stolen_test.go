package manager_test

import (
	"context"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1/clustersv1connect"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret/secretconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/runs/queues"
)

// thief calls an API with the credential of the controller of a cluster.
type thief struct {
	t      *testing.T
	client connect.HTTPClient
	url    string
}

func (h thief) engine() enginev1connect.EngineServiceClient {
	return enginev1connect.NewEngineServiceClient(h.client, h.url)
}

// assigned are the live actions of a cluster.
func (h thief) assigned(cluster string) ([]*enginev1.ActionRef, error) {
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	stream, err := h.engine().WatchAssignments(ctx, &enginev1.WatchAssignmentsRequest{Cluster: cluster})
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(h.t, stream.Close()) }()
	var refs []*enginev1.ActionRef
	for stream.Receive() {
		refs = append(refs, stream.Msg().GetLive().GetRefs()...)
		if stream.Msg().GetSentinel() != nil {
			return refs, nil
		}
	}
	return nil, stream.Err()
}

// TestAStolenCredentialOfACluster makes every call that a controller may make, with the credential of the cluster east: about what runs
// on east, which works, and about what runs on west, of which it must learn and change nothing.
func TestAStolenCredentialOfACluster(t *testing.T) {
	var database string
	url := startWithRoles(t, func(c *configuration.Config) {
		database = c.Database.URL
		c.Runs.Queues = []queues.Queue{{Name: "eastern", Cluster: "east"}, {Name: "western", Cluster: "west"}}
	})
	registry := clustersv1connect.NewClusterRegistryServiceClient(as("root"), url)
	_, err := clustersv1connect.NewClusterRegistryServiceClient(as("ada"), url).AddCluster(t.Context(), &clustersv1.AddClusterRequest{Name: "mine"})
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "for operators only")
	controllers := map[string]thief{}
	var eastID string
	for _, name := range []string{"east", "west"} {
		added, err := registry.AddCluster(t.Context(), &clustersv1.AddClusterRequest{Name: name})
		require.NoError(t, err)
		controllers[name] = thief{t, as(added.GetSecret()), url}
		if name == "east" {
			eastID = added.GetCluster().GetCredentials()[0].GetId()
		}
	}
	east, west := controllers["east"], controllers["west"]

	secrets := secretconnect.NewSecretServiceClient(as("root"), url)
	_, err = secrets.CreateSecret(t.Context(), &secret.CreateSecretRequest{
		Id:         &secret.SecretIdentifier{Project: "mine", Domain: "development", Name: "key"},
		SecretSpec: &secret.SecretSpec{Value: &secret.SecretSpec_StringValue{StringValue: "hidden"}},
	})
	require.NoError(t, err)
	runs := workflowconnect.NewRunServiceClient(as("root"), url)
	refs := map[string]*enginev1.ActionRef{}
	for name, queue := range map[string]string{"east": "eastern", "west": "western"} {
		_, err := runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
			Id: &workflow.CreateRunRequest_RunId{RunId: runOf("mine", "on-"+name)},
			Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
				Id:   &core.Identifier{Project: "mine", Domain: "development", Name: "hello.main", Version: "1"},
				Type: "python", Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1"}},
			}}},
			RunSpec: &task.RunSpec{Queue: queue},
		})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			live, err := controllers[name].assigned(name)
			require.NoError(t, err)
			for _, ref := range live {
				require.Equal(t, "on-"+name, ref.GetId().GetRun().GetName(), "nothing of another cluster")
				refs[name] = ref
			}
			return len(live) == 1
		}, time.Minute, 20*time.Millisecond)
	}

	attempt := func(of string) *enginev1.AttemptRef { return &enginev1.AttemptRef{Action: refs[of], Attempt: 1} }
	report := func(of, cluster string) ([]enginev1.TransitionOutcome, error) {
		answer, err := east.engine().RecordTransitions(t.Context(), &enginev1.RecordTransitionsRequest{Transitions: []*enginev1.Transition{{
			Event: &workflow.ActionEvent{
				Id: refs[of].GetId(), Attempt: 1, Phase: common.ActionPhase_ACTION_PHASE_INITIALIZING, Cluster: cluster, UpdatedTime: timestamppb.Now(),
			},
		}}})
		return answer.GetOutcomes(), err
	}
	secretsOf := func(of string) (*enginev1.GetSecretValuesResponse, error) {
		return enginev1connect.NewSecretValueServiceClient(east.client, url).GetSecretValues(t.Context(), &enginev1.GetSecretValuesRequest{
			Project: "mine", Domain: "development", Names: []string{"key"},
			Holder: &enginev1.SecretHolder{Holder: &enginev1.SecretHolder_Attempt{Attempt: attempt(of)}},
		})
	}
	tokenOf := func(of string) error {
		_, err := enginev1connect.NewTaskTokenServiceClient(east.client, url).IssueTaskToken(t.Context(), &enginev1.IssueTaskTokenRequest{
			Holder: &enginev1.IssueTaskTokenRequest_Attempt{Attempt: attempt(of)},
		})
		return err
	}
	get := func(of, cluster string) (int, error) {
		answer, err := east.engine().GetAssignments(t.Context(), &enginev1.GetAssignmentsRequest{Uids: []int64{refs[of].GetUid()}, Cluster: cluster})
		return len(answer.GetAssignments()), err
	}
	denied := func(err error, what string) {
		t.Helper()
		require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "%s: %v", what, err)
	}

	t.Run("its own", func(t *testing.T) {
		found, err := get("east", "east")
		require.NoError(t, err)
		require.Equal(t, 1, found)
		_, err = east.engine().GetActionStorage(t.Context(), &enginev1.GetActionStorageRequest{ActionId: refs["east"].GetId()})
		require.NoError(t, err)
		values, err := secretsOf("east")
		require.NoError(t, err)
		require.Equal(t, "hidden", string(values.GetValues()[0].GetValue()))
		require.NoError(t, tokenOf("east"))
		outcomes, err := report("east", "east")
		require.NoError(t, err)
		require.Equal(t, []enginev1.TransitionOutcome{enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED}, outcomes)
	})
	links := clustersv1connect.NewClusterLinkServiceClient(east.client, url)
	greeted := func(cluster string) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		link, err := links.Connect(ctx, &clustersv1.ConnectRequest{Cluster: cluster, Instance: "thief"})
		require.NoError(t, err)
		defer func() { require.NoError(t, link.Close()) }()
		if link.Receive() {
			require.NotEmpty(t, link.Msg().GetWelcome().GetLink())
			return nil
		}
		return link.Err()
	}
	t.Run("a link", func(t *testing.T) {
		require.NoError(t, greeted("east"))
		denied(greeted("west"), "hello as another")
		denied(greeted(""), "hello as none")
		_, err := links.Beat(t.Context(), &clustersv1.BeatRequest{Cluster: "west", Instance: "thief", Link: "l"})
		denied(err, "a beat of another")
		_, err = links.Beat(t.Context(), &clustersv1.BeatRequest{Cluster: "east", Instance: "thief", Link: "l"})
		require.Equal(t, connect.CodeFailedPrecondition, connect.CodeOf(err), "a link that is not there")
		_, err = links.SendLog(t.Context(), &clustersv1.SendLogRequest{Cluster: "west", Tail: "t"})
		denied(err, "a log of another")

		conn, err := pgx.Connect(t.Context(), database)
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
		_, err = conn.Exec(t.Context(), `INSERT INTO cluster_tails (id, cluster, touched_at) VALUES ('t', 'west', now())`)
		require.NoError(t, err)
		answer, err := links.SendLog(t.Context(), &clustersv1.SendLogRequest{Cluster: "east", Tail: "t"})
		require.NoError(t, err)
		require.True(t, answer.GetStop(), "a log that was not ordered of it does not exist")
		var forged int
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM cluster_tail_batches`).Scan(&forged))
		require.Zero(t, forged)

		log, err := clustersv1connect.NewClusterLogServiceClient(east.client, url).TailClusterLog(t.Context(), &clustersv1.TailClusterLogRequest{
			Cluster: "east", Request: &enginev1.TailContainerRequest{Namespace: "n", Pod: "p"},
		})
		require.NoError(t, err)
		require.False(t, log.Receive())
		denied(log.Err(), "to read logs")
	})
	t.Run("another's", func(t *testing.T) {
		_, err := east.assigned("west")
		denied(err, "assignments")
		_, err = east.assigned("")
		denied(err, "assignments of no cluster")
		for _, runner := range []enginev1.Runner{enginev1.Runner_RUNNER_POOL, enginev1.Runner_RUNNER_CONNECTOR} {
			stream, err := east.engine().WatchAssignments(t.Context(), &enginev1.WatchAssignmentsRequest{Cluster: "east", Runner: runner})
			require.NoError(t, err)
			require.False(t, stream.Receive())
			denied(stream.Err(), "assignments of all clusters")
		}
		found, err := get("west", "east")
		require.NoError(t, err)
		require.Zero(t, found)
		for _, cluster := range []string{"west", ""} {
			_, err = get("west", cluster)
			denied(err, "an assignment")
			_, err = report("west", cluster)
			denied(err, "a report for another cluster")
		}
		outcomes, err := report("west", "east")
		require.NoError(t, err)
		require.Equal(t, []enginev1.TransitionOutcome{enginev1.TransitionOutcome_TRANSITION_OUTCOME_REFUSED}, outcomes)
		_, err = east.engine().GetActionStorage(t.Context(), &enginev1.GetActionStorageRequest{ActionId: refs["west"].GetId()})
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
		_, err = secretsOf("west")
		denied(err, "secrets")
		_, err = enginev1connect.NewSecretValueServiceClient(east.client, url).GetSecretValues(t.Context(), &enginev1.GetSecretValuesRequest{
			Project: "theirs", Domain: "development", Names: []string{"key"},
			Holder: &enginev1.SecretHolder{Holder: &enginev1.SecretHolder_Attempt{Attempt: attempt("east")}},
		})
		denied(err, "secrets of another project")
		_, err = enginev1connect.NewSecretValueServiceClient(east.client, url).GetSecretValues(t.Context(), &enginev1.GetSecretValuesRequest{
			Project: "mine", Domain: "development", Names: []string{"key"},
		})
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "secrets for nothing")
		denied(tokenOf("west"), "a token")
		fleet := enginev1connect.NewWorkerFleetServiceClient(east.client, url)
		workers, err := fleet.WatchWorkers(t.Context(), &enginev1.WatchWorkersRequest{Cluster: "west"})
		require.NoError(t, err)
		require.False(t, workers.Receive())
		denied(workers.Err(), "workers")
		_, err = enginev1connect.NewAppFleetServiceClient(east.client, url).ReportApps(t.Context(), &enginev1.ReportAppsRequest{Cluster: "west"})
		denied(err, "apps")
		_, err = runsAs(east, url).GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runOf("mine", "on-east")})
		denied(err, "what people see")
		_, err = enginev1connect.NewEngineServiceClient(east.client, url).RecordUsage(t.Context(), &enginev1.RecordUsageRequest{
			Usages: []*enginev1.AttemptUsage{{Uid: refs["west"].GetUid(), Attempt: 1, Points: []*insightv1.UsagePoint{{At: timestamppb.Now(), Used: &insightv1.Amounts{}}}}},
		})
		require.NoError(t, err)
		conn, err := pgx.Connect(t.Context(), database)
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
		var measured int
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM attempt_usage`).Scan(&measured))
		require.Zero(t, measured, "it is left out")

		details, err := runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runOf("mine", "on-west")})
		require.NoError(t, err)
		require.Equal(t, common.ActionPhase_ACTION_PHASE_QUEUED, details.GetDetails().GetAction().GetStatus().GetPhase(), "nothing has changed")
	})
	t.Run("revoked", func(t *testing.T) {
		stream, err := east.engine().WatchAssignments(t.Context(), &enginev1.WatchAssignmentsRequest{Cluster: "east"})
		require.NoError(t, err)
		require.True(t, stream.Receive())
		_, err = registry.RevokeCredential(t.Context(), &clustersv1.RevokeCredentialRequest{Id: eastID})
		require.NoError(t, err)
		for stream.Receive() {
		}
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(stream.Err()), "its streams end")
		_, err = get("east", "east")
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))
		_, err = west.assigned("west")
		require.NoError(t, err, "the other cluster works")
	})
}

func runsAs(h thief, url string) workflowconnect.RunServiceClient {
	return workflowconnect.NewRunServiceClient(h.client, url)
}
