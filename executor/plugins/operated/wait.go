package operated

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/pods/members"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// AddWait adds to the state of a live attempt what pods wait for that are not its own, but those of a cluster that it shares. A pod that
// can never start ends the attempt. Of names the cluster.
func (p *Plugin) AddWait(ctx context.Context, state *plugin.State, attempt *plugin.Attempt, of string, pods []corev1.Pod) error {
	all, err := p.read(ctx, attempt, pods)
	if err != nil {
		return err
	}
	if m := neverStarts(all); m != nil {
		state.Fail(m.State.Failure.In(of + ": " + m.String()))
		state.StillRuns = true
		return nil
	}
	var theirs plugin.State
	ofMembers(&theirs, all)
	if theirs.Message == "" || theirs.Phase >= common.ActionPhase_ACTION_PHASE_RUNNING {
		return nil
	}
	state.Phase, state.Reason, state.Message, state.Stuck = theirs.Phase, theirs.Reason, of+": "+theirs.Message, theirs.Stuck
	state.Expected = theirs.Phase == common.ActionPhase_ACTION_PHASE_INITIALIZING && !theirs.Stuck
	return nil
}

// neverStarts is the first pod that can never start, such as one without an image; nil if there is none. Operators wait for it without
// a limit.
func neverStarts(all []members.Member) *members.Member {
	i := slices.IndexFunc(all, func(m members.Member) bool { return m.State.Failure != nil && m.Pod.Status.Phase == corev1.PodPending })
	if i < 0 {
		return nil
	}
	return &all[i]
}
