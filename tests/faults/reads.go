package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/contracttest"
	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// How often a caller asks, at the beginning of a storm and later, and how long it waits for an answer.
const (
	askEvery  = 150 * time.Millisecond
	askRarely = 1500 * time.Millisecond
	askedLong = 2 * time.Second
)

// askOften is how long callers ask often. Rights have changed by then, and most faults of storms in one cluster are over; the others, and
// what runs on until everything has settled, are long, and would fill the record with calls.
const askOften = 10 * time.Second

// read calls procedures at random until the context ends: those that only read with what is the caller's own and without naming
// anything, and all of them with what is another tenant's.
func (d *driver) read(ctx context.Context, c *client, own, other script.Tenant) {
	methods := proceduresOfKeys()
	began := time.Now()
	for {
		pause := askEvery
		if time.Since(began) > askOften {
			pause = askRarely
		}
		if !sleep(ctx, pause/2+rand.N(pause)) {
			return
		}
		of := own
		if own == (script.Tenant{}) || rand.IntN(2) == 0 {
			of = other
		}
		d.ask(ctx, c, methods[rand.IntN(len(methods))], of, of != own)
	}
}

// proceduresOfKeys are those that programs with a key may call.
func proceduresOfKeys() (methods []protoreflect.MethodDescriptor) {
	for _, method := range contracttest.Methods() {
		rule, _ := authz.RuleOf(contracttest.ProcedureOf(method))
		if !rule.By.Open() && rule.By.Has(authz.Key) && !method.IsStreamingClient() {
			methods = append(methods, method)
		}
	}
	return methods
}

// ask makes a call about what a tenant has, and notes if it works although that is not the caller's.
func (d *driver) ask(ctx context.Context, c *client, method protoreflect.MethodDescriptor, of script.Tenant, foreign bool) {
	procedure := contracttest.ProcedureOf(method)
	rule, _ := authz.RuleOf(procedure)
	requests := contracttest.Naming(method, d.things(of))
	at, request := anyOf(requests)
	if query := method.Input().Fields().ByName("query"); query != nil { // a search repeats nothing
		request.Set(query, protoreflect.ValueOfString(of.Mark))
	}
	about := foreign && !rule.Members && isAbout(procedure, request, of)
	if !about && !strings.HasSuffix(rule.Action, ".view") {
		return // it could change something
	}
	if foreign && at != "" {
		ctx = withNames(ctx)
	}
	begun := time.Now()
	err := c.call(ctx, method, request)
	if !about {
		return
	}
	shown := check.Shown{Procedure: procedure, Of: of.Project(), Begun: begun, What: "worked"}
	switch {
	case err == nil:
		c.guard.show(shown)
	case connect.CodeOf(err) == connect.CodePermissionDenied:
		shown.What = "tells that it exists: " + err.Error()
		c.guard.show(shown)
	}
}

// anyOf is one of the requests.
func anyOf(requests map[string]*dynamicpb.Message) (at string, request *dynamicpb.Message) {
	for at, request = range requests { // in no order
		break
	}
	return at, request
}

// isAbout reports whether the rule of a procedure says that a request is about what a tenant has.
func isAbout(procedure string, request proto.Message, of script.Tenant) bool {
	resources, err := authz.ResourcesOf(procedure, request)
	if err != nil {
		return false
	}
	for _, resource := range resources {
		if resource.Project == of.Project() {
			return true
		}
	}
	return false
}

// errNoMessage is the error of a stream that was left without a message.
var errNoMessage = errors.New("the stream had no message")

// call makes a call. It is an error if a stream has no message. Streams are left after a while.
func (c *client) call(ctx context.Context, method protoreflect.MethodDescriptor, request *dynamicpb.Message) error {
	ctx, cancel := context.WithTimeout(ctx, askedLong)
	defer cancel()
	caller := connect.NewClient[dynamicpb.Message, emptypb.Empty](c.http, c.url+contracttest.ProcedureOf(method), connect.WithAcceptCompression("gzip", nil, nil))
	if !method.IsStreamingServer() {
		_, err := caller.CallUnary(ctx, connect.NewRequest(request))
		return err //nolint:wrapcheck // its code matters
	}
	stream, err := caller.CallServerStream(ctx, connect.NewRequest(request))
	if err != nil {
		return err //nolint:wrapcheck // its code matters
	}
	defer stream.Close() //nolint:errcheck // it is cut off
	had := false
	for stream.Receive() {
		had = true
	}
	switch {
	case had:
		return nil
	case stream.Err() != nil:
		return stream.Err()
	default:
		return errNoMessage
	}
}

// watchRuns follows the runs of a project, or those of all projects that the caller may see, over as many streams as it takes.
func (d *driver) watchRuns(ctx context.Context, c *client, in string) {
	request := &workflow.WatchRunsRequest{Target: &workflow.WatchRunsRequest_Org{Org: "storm"}}
	if in != "" {
		request.Target = &workflow.WatchRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: in, Domain: script.Domain}}
		ctx = withNames(ctx)
	}
	for sleep(ctx, askRarely/2+rand.N(askRarely)) {
		stream, err := c.runs.WatchRuns(ctx, request)
		if err != nil {
			continue
		}
		for stream.Receive() { // the guard reads the answers
		}
		_ = stream.Close() // it has ended
	}
}

// things are what a tenant has, or will have, one of each kind.
func (d *driver) things(of script.Tenant) map[protoreflect.FullName]proto.Message {
	var runs []*drivenRun
	for _, run := range d.runs {
		if run.root.Tenant == of {
			runs = append(runs, run)
		}
	}
	run := runs[rand.IntN(len(runs))]
	nodes := run.root.All()
	action := run.action(nodes[rand.IntN(len(nodes))].Name)
	name, version := of.TaskName(string(script.Task)), "1"
	if d.plan.triggers.node.Tenant == of && rand.IntN(2) == 0 {
		name, version = d.plan.triggered(), "v1"
	}
	fired := &common.TriggerName{Project: of.Project(), Domain: script.Domain, TaskName: name, Name: cronTrigger}
	read := &artifact.ArtifactName{Project: of.Project(), Domain: script.Domain, Name: script.ReadArtifact}
	things := map[protoreflect.FullName]proto.Message{}
	for _, thing := range []proto.Message{
		run.id(), action, &common.ActionAttemptIdentifier{ActionId: action, Attempt: 1},
		&task.TaskIdentifier{Project: of.Project(), Domain: script.Domain, Name: name, Version: version},
		&task.TaskName{Project: of.Project(), Domain: script.Domain, Name: name},
		fired, &common.TriggerIdentifier{Name: fired, Revision: 1}, read, &artifact.ArtifactIdentifier{Name: read, Version: "1"},
		&common.ProjectIdentifier{Name: of.Project(), Domain: script.Domain},
		&secret.SecretIdentifier{Project: of.Project(), Domain: script.Domain, Name: script.Secrets()[0]},
		&settings.SettingsKey{Project: of.Project(), Domain: script.Domain},
	} {
		things[thing.ProtoReflect().Descriptor().FullName()] = thing
	}
	return things
}
