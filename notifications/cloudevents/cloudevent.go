package cloudevents

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
)

// contentType is that of one event in the structured JSON format of CloudEvents.
const contentType = "application/cloudevents+json"

// The types of events.
const (
	typeRun    = "org.flyte.run.phase"
	typeAction = "org.flyte.action.phase"
)

// maxError bounds what an event says of an error, in bytes.
const maxError = 16 << 10

// Event is a row of the event log.
type Event struct {
	RunID, Seq int64
	Action     ident.Action
	Parent     string // empty for the root action
	Type       workflow.ActionType
	TaskName   string
	Attempt    int32
	Phase      common.ActionPhase
	Version    int32
	At         time.Time
	Error      []byte // core.ExecutionError
}

// message is an event as it is sent.
type message struct {
	id, key    string
	runID, seq int64
	dedup      string   // the id with the source: several installations may publish to one receiver
	words      []string // of the subject on a bus that has them
	body       []byte
	sent       bool // whether the sink has confirmed it
}

// cloudEvent is the format of CloudEvents 1.0, with the extensions partitioning and sequence.
type cloudEvent struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject,omitempty"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	PartitionKey    string    `json:"partitionkey"`
	Sequence        string    `json:"sequence"`
	Data            any       `json:"data"`
}

type data struct {
	Project   string `json:"project"`
	Domain    string `json:"domain"`
	Run       string `json:"run"`
	Action    string `json:"action"`
	Parent    string `json:"parent,omitempty"`
	Kind      string `json:"kind"`
	Task      string `json:"task,omitempty"`
	Attempt   int32  `json:"attempt"`
	Phase     string `json:"phase"`
	Version   int32  `json:"version"`
	Sequence  int64  `json:"sequence"`
	Error     string `json:"error,omitempty"`
	ErrorCode string `json:"errorCode,omitempty"`
}

// messageOf encodes an event. Its id is the same whenever it is sent.
func messageOf(source string, e *Event) (*message, error) {
	failure := &core.ExecutionError{}
	if err := proto.Unmarshal(e.Error, failure); err != nil {
		return nil, fmt.Errorf("the stored error of %s cannot be read: %w", e.Action.Name, err)
	}
	run := e.Action.Run
	out := cloudEvent{
		SpecVersion: "1.0", ID: fmt.Sprintf("%d-%d", e.RunID, e.Seq), Source: source, Type: typeAction, Subject: run.Name + "/" + e.Action.Name,
		Time: e.At.UTC(), DataContentType: "application/json", PartitionKey: run.String(), Sequence: fmt.Sprintf("%019d", e.Seq),
		Data: data{
			Project: run.Project, Domain: run.Domain, Run: run.Name, Action: e.Action.Name, Parent: e.Parent,
			Kind: strings.ToLower(strings.TrimPrefix(e.Type.String(), "ACTION_TYPE_")), Task: e.TaskName, Attempt: e.Attempt,
			Phase: phase.Name(e.Phase), Version: e.Version, Sequence: e.Seq,
			Error: clip.Ellipsis(failure.GetMessage(), maxError), ErrorCode: failure.GetCode(),
		},
	}
	if e.Parent == "" {
		out.Type = typeRun
	}
	body, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode an event: %w", err)
	}
	return &message{
		id: out.ID, runID: e.RunID, seq: e.Seq, key: out.PartitionKey, dedup: source + "/" + out.ID,
		words: []string{run.Project, run.Domain, run.Name}, body: body,
	}, nil
}
