package health

import (
	"context"

	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/runs/actiondata"
	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
)

const (
	maxInputsRead = 20       // misses whose inputs are compared
	maxInputBytes = 64 << 10 // of the inputs of an action
	maxInputNames = 20
)

// Specs reads encoded specs by digest; worklists.LiveReader does.
type Specs interface {
	Specs(ctx context.Context, digests [][]byte) (map[string][]byte, error)
}

// Comparer finds out what made the key of an action new.
type Comparer struct {
	Specs   Specs
	Objects actiondata.Objects
}

// Why compares an action with the one before it of the same task. number counts the actions of a call: the inputs of the first are read.
func (c *Comparer) Why(ctx context.Context, a, before *rollups.TaskAction, number int) (insightv1.CacheMissReason, []string, error) {
	ignored := map[string]bool{}
	if len(a.SpecDigest) > 0 && len(before.SpecDigest) > 0 {
		bodies, err := c.Specs.Specs(ctx, [][]byte{a.SpecDigest, before.SpecDigest})
		if err != nil {
			return 0, nil, err
		}
		var now, then task.TaskSpec
		if proto.Unmarshal(bodies[string(a.SpecDigest)], &now) == nil && proto.Unmarshal(bodies[string(before.SpecDigest)], &then) == nil {
			one, other := now.GetTaskTemplate(), then.GetTaskTemplate()
			if one.GetMetadata().GetDiscoveryVersion() != other.GetMetadata().GetDiscoveryVersion() {
				return insightv1.CacheMissReason_CACHE_MISS_REASON_VERSION, nil, nil
			}
			if !sameInterface(one.GetInterface(), other.GetInterface()) {
				return insightv1.CacheMissReason_CACHE_MISS_REASON_INTERFACE, nil, nil
			}
			for _, name := range one.GetMetadata().GetCacheIgnoreInputVars() {
				ignored[name] = true
			}
		}
	}
	if a.CacheKey == before.CacheKey {
		return insightv1.CacheMissReason_CACHE_MISS_REASON_NEW_KEY, nil, nil // the action before it had not ended, or failed
	}
	if number >= maxInputsRead {
		return insightv1.CacheMissReason_CACHE_MISS_REASON_INPUTS, nil, nil
	}
	return insightv1.CacheMissReason_CACHE_MISS_REASON_INPUTS, c.differing(ctx, a, before, ignored), nil
}

// sameInterface compares types by name; descriptions do not count.
func sameInterface(a, b *core.TypedInterface) bool {
	same := func(a, b *core.VariableMap) bool {
		if len(a.GetVariables()) != len(b.GetVariables()) {
			return false
		}
		for i, one := range a.GetVariables() {
			other := b.GetVariables()[i]
			if one.GetKey() != other.GetKey() || !proto.Equal(one.GetValue().GetType(), other.GetValue().GetType()) {
				return false
			}
		}
		return true
	}
	return same(a.GetInputs(), b.GetInputs()) && same(a.GetOutputs(), b.GetOutputs())
}

// differing are the names of the inputs that count and differ; none if they cannot be read.
func (c *Comparer) differing(ctx context.Context, a, before *rollups.TaskAction, ignored map[string]bool) (names []string) {
	var now, then task.Inputs
	for _, one := range []struct {
		action *rollups.TaskAction
		inputs *task.Inputs
	}{{a, &now}, {before, &then}} {
		if read, err := actiondata.Read(ctx, c.Objects, actiondata.InputsURI(&one.action.Action), one.inputs, maxInputBytes); err != nil || !read {
			return nil
		}
	}
	had := map[string]*core.Literal{}
	for _, literal := range then.GetLiterals() {
		had[literal.GetName()] = literal.GetValue()
	}
	for _, literal := range now.GetLiterals() {
		name := literal.GetName()
		if !ignored[name] && !proto.Equal(literal.GetValue(), had[name]) && len(names) < maxInputNames {
			names = append(names, name)
		}
	}
	return names
}
