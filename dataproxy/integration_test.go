package dataproxy_test

import (
	"context"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	config "github.com/flyte-binary/flyte-binary/dataproxy"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy/dataproxyconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// TestTheDataOfARealRun takes the steps of the SDK, with the real runs service and a real database.
func TestTheDataOfARealRun(t *testing.T) {
	f := &fixture{t: t, pods: &podLogs{}}
	f.openStore()
	machine, err := runs.New(runs.DefaultConfig(), runs.Deps{Pool: pgtest.New(t, store.Migrations()), Blobs: f.store, Logger: zerolog.Nop()})
	require.NoError(t, err)
	require.NoError(t, machine.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, machine.Stop(context.Background())) })
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	machine.Mount(mux)
	mux.Handle(enginev1connect.NewPodLogServiceHandler(f.pods, mux.Options()...))
	client := rpc.InProcess(mux)
	runClient, engine := workflowconnect.NewRunServiceClient(client, rpc.InProcessURL), enginev1connect.NewEngineServiceClient(client, rpc.InProcessURL)
	service, err := config.New(config.DefaultConfig(), config.Deps{
		Store: f.store, Runs: runClient, Engine: engine,
		Tasks:    taskconnect.NewTaskServiceClient(client, rpc.InProcessURL),
		Projects: projectconnect.NewProjectServiceClient(client, rpc.InProcessURL),
		PodLogs:  func(string) config.PodLogs { return enginev1connect.NewPodLogServiceClient(client, rpc.InProcessURL) },
	})
	require.NoError(t, err)
	service.Mount(mux)
	f.data = dataproxyconnect.NewDataProxyServiceClient(client, rpc.InProcessURL)

	spec := &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
		Id:   &core.Identifier{Project: run.Project, Domain: run.Domain, Name: "env.main", Version: "v1"},
		Type: "python", Interface: &core.TypedInterface{}, Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "i"}},
	}}
	inputs := &task.Inputs{Literals: []*task.NamedLiteral{literal("x", "1")}, Context: []*core.KeyValuePair{{Key: "k", Value: "v"}}}
	uploaded, err := f.data.UploadInputs(t.Context(), &dataproxy.UploadInputsRequest{
		Id:     &dataproxy.UploadInputsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: run.Project, Domain: run.Domain}},
		Task:   &dataproxy.UploadInputsRequest_TaskSpec{TaskSpec: spec},
		Inputs: inputs,
	})
	require.NoError(t, err)
	_, err = runClient.CreateRun(t.Context(), &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: run.Proto()}, Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: spec},
		InputWrapper: &workflow.CreateRunRequest_OffloadedInputData{OffloadedInputData: uploaded.GetOffloadedInputData()},
	})
	require.NoError(t, err)

	data, err := f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: id("a0")})
	require.NoError(t, err)
	require.True(t, proto.Equal(inputs, data.GetInputs()))
	require.Empty(t, data.GetOutputs().GetLiterals())
	_, err = f.data.CreateDownloadLink(t.Context(), reportRequest("a0", 1))
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	_, _, err = f.tail(logsOf("a0"))
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))

	// What the task and its executor write.
	storage, err := engine.GetActionStorage(t.Context(), &enginev1.GetActionStorageRequest{ActionId: id("a0")})
	require.NoError(t, err)
	dir := storage.GetRunOutputBase() + "a0/1"
	f.write(dir+"/outputs.pb", &task.Outputs{Literals: []*task.NamedLiteral{literal("o0", "2")}})
	require.NoError(t, f.store.WriteAll(t.Context(), dir+"/report.html", []byte("<p>")))
	require.NoError(t, f.store.WriteAll(t.Context(), dir+"/_logs/main.log", []byte("2026-01-01T00:00:00.5Z hello\n")))
	_, err = engine.RecordTransitions(t.Context(), &enginev1.RecordTransitionsRequest{Transitions: []*enginev1.Transition{{
		Event: &workflow.ActionEvent{
			Id: id("a0"), Attempt: 1, Phase: succeeded,
			Outputs: &task.OutputReferences{OutputUri: dir + "/outputs.pb", ReportUri: dir + "/report.html"},
			LogContext: &core.LogContext{PrimaryPodName: "pod", Pods: []*core.PodLogContext{
				{Namespace: "ns", PodName: "pod", PrimaryContainerName: "main", Containers: []*core.ContainerContext{{ContainerName: "main"}}},
			}},
		},
	}}})
	require.NoError(t, err)

	data, err = f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: id("a0")})
	require.NoError(t, err)
	require.Equal(t, "o0", data.GetOutputs().GetLiterals()[0].GetName())
	link, err := f.data.CreateDownloadLink(t.Context(), reportRequest("a0", 1))
	require.NoError(t, err)
	status, body := f.send(http.MethodGet, link.GetPreSignedUrls().GetSignedUrl()[0], nil, nil)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "<p>", body)
	text, _, err := f.tail(logsOf("a0"))
	require.NoError(t, err)
	require.Equal(t, "hello\n", text)

	require.NoError(t, f.store.Delete(t.Context(), uploaded.GetOffloadedInputData().GetUri()))
	_, err = f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: id("a0")})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	require.ErrorContains(t, err, "inputs")

	missing := upload([]byte("x"))
	missing.Project = "nowhere"
	_, err = f.data.CreateUploadLocation(t.Context(), missing)
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	missing.Project, missing.Domain = run.Project, "nowhere"
	_, err = f.data.CreateUploadLocation(t.Context(), missing)
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}
