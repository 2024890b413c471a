package rpc_test

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// runsOf serves the runs of one project.
type runsOf struct {
	workflowconnect.UnimplementedRunServiceHandler
	project string
}

func (r runsOf) GetRunDetails(_ context.Context, request *workflow.GetRunDetailsRequest) (*workflow.GetRunDetailsResponse, error) {
	if id := request.GetRunId(); id.GetProject() != r.project {
		return nil, rpc.NotFound("run %s does not exist in %s", id.GetName(), id.GetProject())
	}
	return &workflow.GetRunDetailsResponse{}, nil
}

func ask(client workflowconnect.RunServiceClient, project string) error {
	_, err := client.GetRunDetails(context.Background(), &workflow.GetRunDetailsRequest{
		RunId: &common.RunIdentifier{Project: project, Domain: "development", Name: "r1"},
	})
	return err
}

// Services of one process call each other through the interceptors, without a socket.
func ExampleInProcess() {
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	mux.Handle(workflowconnect.NewRunServiceHandler(runsOf{project: "ml"}, mux.Options()...))

	client := workflowconnect.NewRunServiceClient(rpc.InProcess(mux), rpc.InProcessURL)
	fmt.Println(ask(client, "ml"))
	// Output: <nil>
}

// A handler returns an error of the domain; the chain makes a Connect error of it.
func ExampleNotFound() {
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	mux.Handle(workflowconnect.NewRunServiceHandler(runsOf{project: "ml"}, mux.Options()...))

	err := ask(workflowconnect.NewRunServiceClient(rpc.InProcess(mux), rpc.InProcessURL), "web")
	var wire *connect.Error
	fmt.Println(errors.As(err, &wire), wire.Code(), "-", wire.Message())
	// Output: true not_found - run r1 does not exist in web
}

// only allows what concerns one project.
type only string

func (o only) Authorise(_ context.Context, _ authz.Identity, rule authz.Rule, resource authz.Resource) (authz.Scope, error) {
	switch {
	case resource.Project == string(o):
		return authz.Everything(), nil
	case rule.Lists && resource.Project == "": // a list across all projects shows this one
		return authz.Scope{Places: []authz.Place{{Project: string(o)}}}, nil
	}
	return authz.Scope{}, rpc.PermissionDenied("%s is not allowed on %s", rule.Action, resource)
}

// An authoriser sees the permission and the resource of every request before its handler does.
func ExampleAuthoriser() {
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{Authoriser: only("ml")}))
	mux.Handle(workflowconnect.NewRunServiceHandler(runsOf{project: "ml"}, mux.Options()...))

	client := workflowconnect.NewRunServiceClient(rpc.InProcess(mux), rpc.InProcessURL)
	fmt.Println(ask(client, "ml"))
	fmt.Println(ask(client, "web"))
	// Output:
	// <nil>
	// permission_denied: run.view is not allowed on run web/development/r1
}
