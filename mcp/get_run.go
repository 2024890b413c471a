package mcp

import (
	"context"
	"strings"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

type getRunOutput struct {
	runOutput
	// Actions counts the actions of the run by phase.
	Actions map[string]uint32 `json:"actions"`
	Error   *errorOutput      `json:"error,omitempty"`
	Aborted string            `json:"abort_reason,omitempty"`
	// Failures are the failed actions of the run, grouped by cause.
	Failures []failureGroup `json:"failures,omitempty"`
	// WaitsFor is why the run's own task waits.
	WaitsFor  string `json:"waits_for,omitempty"`
	RelatedTo string `json:"related_to,omitempty"`
}

type errorOutput struct {
	Kind    string `json:"kind,omitempty" jsonschema:"user if the code failed, system if the platform did"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

type failureGroup struct {
	errorOutput
	Count       uint32 `json:"count"`
	FirstAction string `json:"first_action"`
}

// maxError bounds the text of an error, in bytes.
const maxError = 4000

func errorOf(info *workflow.ErrorInfo) *errorOutput {
	if info == nil {
		return nil
	}
	out := &errorOutput{Code: info.GetCode(), Message: cut(info.GetMessage(), maxError)}
	switch info.GetKind() {
	case workflow.ErrorInfo_KIND_USER:
		out.Kind = "user"
	case workflow.ErrorInfo_KIND_SYSTEM:
		out.Kind = "system"
	case workflow.ErrorInfo_KIND_UNSPECIFIED:
	}
	return out
}

var getRunTool = reads("get_run", "Describes a run: its phase, how many of its actions are in which phase, its error and what failed.", getRun)

func getRun(ctx context.Context, s *session, in runName) (out getRunOutput, err error) {
	answer, err := s.runs.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: in.id()})
	if err != nil {
		return out, err
	}
	root, spec := answer.GetDetails().GetAction(), answer.GetDetails().GetRunSpec()
	out.runOutput = s.run(&workflow.Run{
		Action: &workflow.Action{Id: root.GetId(), Metadata: root.GetMetadata(), Status: root.GetStatus()}, Labels: spec.GetLabels().GetValues(),
	})
	out.Error, out.Aborted = errorOf(root.GetErrorInfo()), root.GetAbortInfo().GetReason()
	out.RelatedTo = spec.GetRelation().GetRelatedTo().GetName()
	if out.Actions, err = s.phases(ctx, in); err != nil {
		return out, err
	}
	if out.Failures, err = s.failureGroups(ctx, in, 10); err != nil {
		return out, err
	}
	if !terminal(root.GetStatus().GetPhase()) {
		why, err := s.insight.ExplainAction(ctx, &insightv1.ExplainActionRequest{ActionId: in.action(rootAction)})
		if err != nil {
			return out, err
		}
		out.WaitsFor = why.GetWait().GetMessage()
	}
	return out, nil
}

// phases counts the actions of a run by phase.
func (s *session) phases(ctx context.Context, run runName) (map[string]uint32, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.insight.WatchRunActions(ctx, &insightv1.WatchRunActionsRequest{RunId: run.id()})
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }() // it has been read as far as it is of interest
	counts := map[string]uint32{}
	if !stream.Receive() {
		return counts, stream.Err()
	}
	for _, p := range stream.Msg().GetStart().GetPhases() {
		counts[phaseName(common.ActionPhase(p.GetPhase()))] = p.GetCount() //nolint:gosec // a phase
	}
	return counts, nil
}

// failureGroups are the failures of a run by cause.
func (s *session) failureGroups(ctx context.Context, run runName, limit uint32) (groups []failureGroup, err error) {
	answer, err := s.insight.ListErrors(ctx, &insightv1.ListErrorsRequest{RunId: run.id(), Limit: limit})
	if err != nil {
		return nil, err
	}
	for _, g := range answer.GetGroups() {
		groups = append(groups, failureGroup{
			errorOutput: errorOutput{Kind: strings.ToLower(g.GetKind()), Code: g.GetCode(), Message: cut(g.GetMessage(), maxError)}, Count: g.GetCount(), FirstAction: g.GetFirstAction(),
		})
	}
	return groups, nil
}
