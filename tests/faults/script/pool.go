package script

import "github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"

// The reusable environments of a storm.
const (
	// FlatPool runs tasks without children.
	FlatPool = "flat"
	// NestedPool runs parents and children. Only workers beyond its maximum keep it from a deadlock.
	NestedPool = "nested"
)

// Reuse is the policy of a reusable environment.
func Reuse(pool string) *core.ReusePolicy {
	if pool == FlatPool {
		return &core.ReusePolicy{MinReplicas: 1, MaxReplicas: 3, Concurrency: 2}
	}
	return &core.ReusePolicy{MaxReplicas: 2, Concurrency: 1}
}
