// Package script says what the task of a storm does: how long it takes, how often it fails, which children it has. The
// suite writes a script into the inputs of a run, and the task program, which is started for every pod, follows it and
// hands parts of it to its children. It stands below the suite and its task program and knows the wire contract only.
package script

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

// Kind is what an action is.
type Kind string

// The kinds of actions.
const (
	Task      Kind = "task"
	Sleep     Kind = "sleep" // runs without a process
	Trace     Kind = "trace"
	Condition Kind = "condition"
)

// Node is one action with everything below it. The zero value of a field means that it does not do that.
type Node struct {
	Tenant      Tenant `json:"tenant"`
	Name        string `json:"name"`
	Kind        Kind   `json:"kind"`
	Millis      int    `json:"millis,omitempty"`      // how long it works, after its children
	Failures    int    `json:"failures,omitempty"`    // how often it fails by itself before it succeeds
	Fatal       bool   `json:"fatal,omitempty"`       // its failure must not be retried
	Retries     int    `json:"retries,omitempty"`     // how many failures of its own are retried
	Chain       bool   `json:"chain,omitempty"`       // children one after the other
	Leave       bool   `json:"leave,omitempty"`       // ends without waiting for its children
	Twice       bool   `json:"twice,omitempty"`       // records each child twice
	Cache       string `json:"cache,omitempty"`       // version of its cached outputs
	Serialized  bool   `json:"serialized,omitempty"`  // only one of those with the same key computes
	Timeout     int    `json:"timeout,omitempty"`     // milliseconds that an attempt may take
	Deadline    int    `json:"deadline,omitempty"`    // milliseconds that it may take with all its attempts
	Answer      string `json:"answer,omitempty"`      // condition: signal, abort or timeout
	AbortMillis int    `json:"abortMillis,omitempty"` // it is aborted this long after it was seen
	Secret      string `json:"secret,omitempty"`      // name of the secret that it needs
	Artifact    string `json:"artifact,omitempty"`    // name of the artifact that its output becomes
	Reads       bool   `json:"reads,omitempty"`       // its inputs have the data of the artifact of the storm
	Pool        string `json:"pool,omitempty"`        // name of the reusable environment that runs it
	Via         string `json:"via,omitempty"`         // what makes its pods, or runs it without one
	Stubborn    bool   `json:"stubborn,omitempty"`    // its first attempt ends by a kill alone; later ones take no time
	Children    []Node `json:"children,omitempty"`
}

// InputName and OutputName are the names in the task's interface.
const (
	InputName  = "script"
	OutputName = "seen"
	dataName   = "data" // of tasks that read
)

// ReadArtifact is the name of the artifact of the storm.
const ReadArtifact = "read"

// Data is its value, a file outside of the store, as parents pass it on: without its identity.
func Data() *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Blob{Blob: &core.Blob{Uri: "s3://storm/data"}}}}}
}

// Encode is the inputs of a task that follows the script. Tasks that share cached outputs share their inputs, so their
// names are left out.
func (n Node) Encode() (*task.Inputs, error) {
	if n.Cache != "" {
		n.Name, n.AbortMillis = "", 0
	}
	body, err := json.Marshal(n)
	if err != nil {
		return nil, fmt.Errorf("encode script: %w", err)
	}
	inputs := &task.Inputs{Literals: []*task.NamedLiteral{{Name: InputName, Value: Text(string(body))}}}
	if n.Reads {
		inputs.Literals = append(inputs.Literals, &task.NamedLiteral{Name: dataName, Value: Data()})
	}
	return inputs, nil
}

// Decode reads the script from the content of inputs.pb.
func Decode(body []byte) (Node, error) {
	var node Node
	inputs := &task.Inputs{}
	if err := proto.Unmarshal(body, inputs); err != nil {
		return node, fmt.Errorf("decode inputs: %w", err)
	}
	for _, literal := range inputs.GetLiterals() {
		if literal.GetName() == InputName {
			text := literal.GetValue().GetScalar().GetPrimitive().GetStringValue()
			if err := json.Unmarshal([]byte(text), &node); err != nil {
				return node, fmt.Errorf("decode script: %w", err)
			}
			return node, nil
		}
	}
	return node, fmt.Errorf("the inputs have no %s", InputName)
}

// Text is a string as a literal.
func Text(text string) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
		Primitive: &core.Primitive{Value: &core.Primitive_StringValue{StringValue: text}},
	}}}}
}

// All lists the node and everything below it, parents first.
func (n Node) All() []Node {
	found := []Node{n}
	for _, child := range n.Children {
		found = append(found, child.All()...)
	}
	return found
}
