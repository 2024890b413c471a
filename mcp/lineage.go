package mcp

import (
	"context"
	"strings"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
)

type lineageInput struct {
	runName
	Depth int `json:"depth,omitempty" jsonschema:"how many steps to follow in both directions, up to 20; 3 by default"`
}

type lineageOutput struct {
	Edges []edgeOutput `json:"edges"`
	// Truncated says that there is more than is returned.
	Truncated bool `json:"truncated,omitempty"`
}

type edgeOutput struct {
	From string `json:"from"`
	Kind string `json:"kind" jsonschema:"produced: a run made an artifact; used: a run or app used an artifact; parent: an artifact was made of another"`
	To   string `json:"to"`
}

var lineageTool = reads("lineage", "Follows the artifacts that a run used and made, to the runs and apps before and after it.", lineage)

func lineage(ctx context.Context, s *session, in lineageInput) (out lineageOutput, err error) {
	answer, err := s.artifacts.GetLineage(ctx, &insightv1.GetLineageRequest{RunId: in.id(), Depth: bounded(in.Depth, 3, 20)})
	if err != nil {
		return out, err
	}
	out.Truncated, out.Edges = answer.GetTruncated(), []edgeOutput{}
	nodes := answer.GetNodes()
	for _, edge := range answer.GetEdges() {
		if int(edge.GetFrom()) >= len(nodes) || int(edge.GetTo()) >= len(nodes) {
			continue
		}
		out.Edges = append(out.Edges, edgeOutput{
			From: nodeName(nodes[edge.GetFrom()]), To: nodeName(nodes[edge.GetTo()]), Kind: strings.ToLower(strings.TrimPrefix(edge.GetKind().String(), "KIND_")),
		})
	}
	return out, nil
}

func nodeName(node *insightv1.LineageNode) string {
	switch subject := node.GetSubject().(type) {
	case *insightv1.LineageNode_Run:
		run := subject.Run
		return "run " + run.GetProject() + "/" + run.GetDomain() + "/" + run.GetName()
	case *insightv1.LineageNode_Artifact:
		return "artifact " + artifactName(subject.Artifact)
	case *insightv1.LineageNode_App:
		app := subject.App
		return "app " + app.GetProject() + "/" + app.GetDomain() + "/" + app.GetName()
	default:
		return "unknown"
	}
}

func artifactName(id *artifact.ArtifactIdentifier) string {
	name := id.GetName()
	return name.GetProject() + "/" + name.GetDomain() + "/" + name.GetName() + "@" + id.GetVersion()
}
