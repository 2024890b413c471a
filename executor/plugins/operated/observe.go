package operated

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/pods/kueue"
	"github.com/flyte-binary/flyte-binary/pods/members"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// reasonSuspended is the reason of an object that waits for its queue.
const reasonSuspended = "Suspended"

// operatorPause is how long an operator may be silent about an object before that is reported.
const operatorPause = 5 * time.Second

// observe returns the state of an attempt from its object and its pods. The operator decides when the attempt ends, and
// the pods say why.
func (p *Plugin) observe(ctx context.Context, attempt *plugin.Attempt, object *unstructured.Unstructured) (plugin.State, error) {
	reading := p.kind.Read(object)
	all, err := p.membersOf(ctx, attempt, reading)
	if err != nil {
		return plugin.State{}, err
	}
	slices.SortFunc(all, func(a, b members.Member) int {
		return cmp.Or(a.Pod.CreationTimestamp.Compare(b.Pod.CreationTimestamp.Time), cmp.Compare(a.Pod.Name, b.Pod.Name))
	})
	state := plugin.State{Phase: reading.Phase, Reason: reading.Reason, Message: reading.Message}
	switch reading.Phase {
	case common.ActionPhase_ACTION_PHASE_SUCCEEDED:
	case common.ActionPhase_ACTION_PHASE_FAILED:
		p.fail(&state, attempt, object, reading, all)
	default:
		p.ofLive(&state, object, reading, all)
		if err := p.explainQueue(ctx, &state, object); err != nil {
			return plugin.State{}, err
		}
	}
	addMembers(&state, all)
	state.LogLinks = linksOf(all, p.pods.LinksOfPods(attempt))
	state.Object = object.GetUID()
	// Operators delete pods that still run when another one has failed.
	state.Stopping = object.GetDeletionTimestamp() != nil || slices.ContainsFunc(all, func(m members.Member) bool { return m.State.Stopping })
	return state, nil
}

// membersOf are the pods of an attempt. The caches of objects and pods are independent: the end of a pod must not be mistaken for its
// absence.
func (p *Plugin) membersOf(ctx context.Context, attempt *plugin.Attempt, reading Reading) ([]members.Member, error) {
	if reading.Phase != common.ActionPhase_ACTION_PHASE_FAILED {
		all, err := p.readFrom(ctx, attempt, p.pods.Cached)
		if err != nil || !reading.Begun || hasPrimary(all) {
			return all, err
		}
	}
	return p.readFrom(ctx, attempt, p.pods.Live)
}

func (p *Plugin) readFrom(
	ctx context.Context, attempt *plugin.Attempt, find func(context.Context, *plugin.Attempt) ([]corev1.Pod, error),
) ([]members.Member, error) {
	pods, err := find(ctx, attempt)
	if err != nil {
		return nil, err
	}
	return p.read(ctx, attempt, pods)
}

func hasPrimary(all []members.Member) bool {
	return slices.ContainsFunc(all, func(m members.Member) bool { return m.Primary })
}

// othersFailed reports whether the attempt failed because of other pods than the one that writes the outputs. Pods that were
// stopped do not count: an operator stops them when the first pod crashes, which it may do after it has written the outputs.
func (p *Plugin) othersFailed(reading Reading, all []members.Member) bool {
	first := reading.Unseen && hasPrimary(all)
	for _, m := range all {
		why := m.State.Failure
		switch {
		case why == nil || slices.Contains(p.kind.Followers, m.Role):
		case m.Primary:
			first = true
		case why.IsUsers() || why.Reason == failure.OOMKilled:
			return true
		}
	}
	return !first
}

// fail says why the operator gave the attempt up: the failure of the pod that most likely caused it, with the error document of that
// pod only, or else the operator's own words.
func (p *Plugin) fail(state *plugin.State, attempt *plugin.Attempt, object *unstructured.Unstructured, reading Reading, all []members.Member) {
	state.OthersFailed = p.othersFailed(reading, all)
	if p.missing(reading, all) {
		state.Fail(deleted(object, reading, len(all)))
		return
	}
	culprit := p.culprit(reading, all)
	if culprit == nil {
		state.Fail(p.withoutCulprit(object, reading, all))
		return
	}
	why := culprit.State.Failure
	if reading.NotStarted && why.IsUsers() && slices.Contains(p.kind.Followers, culprit.Role) {
		why = failure.New(failure.RuntimeNotStarted, "%s", why.Message)
	}
	state.Fail(why.In(culprit.String()))
	switch {
	case podspec.HasOwnFiles(culprit.Pod):
		state.ErrorDir = blobpath.Member(attempt.Dir, culprit.Pod.Name)
	case p.kind.Ranked:
		state.NoDocument = !culprit.Primary
	}
}

// culprit is the pod that most likely caused the failure of the attempt; nil if none is to blame.
func (p *Plugin) culprit(reading Reading, all []members.Member) *members.Member {
	if found := p.disrupted(all); found != nil {
		return found
	}
	var leading, following []members.Member
	for _, m := range all {
		switch {
		case m.State.Failure == nil || (reading.Program && !m.State.Failure.IsUsers()):
		case slices.Contains(p.kind.Followers, m.Role):
			following = append(following, m)
		default:
			leading = append(leading, m)
		}
	}
	for _, group := range [][]members.Member{leading, following} {
		if found := members.Culprit(group); found != nil {
			return found
		}
	}
	return nil
}

// withoutCulprit is the failure of an attempt for which no pod is to blame.
func (p *Plugin) withoutCulprit(object *unstructured.Unstructured, reading Reading, all []members.Member) *failure.Failure {
	said := strings.Trim(reading.Reason+": "+reading.Message, ": ")
	if p.kind.KeepsPrimary && reading.ByUser && !hasPrimary(all) {
		return failure.New(failure.DeletedExternally, "%s %s has failed without its main pod: %s", object.GetKind(), object.GetName(), said)
	}
	reason := failure.OperatorFailed
	if reading.ByUser || reading.Program {
		reason = failure.GangFailed
	}
	return failure.New(reason, "%s %s: %s", object.GetKind(), object.GetName(), said)
}

// ofLive is the state of an attempt that the operator has not settled.
func (p *Plugin) ofLive(state *plugin.State, object *unstructured.Unstructured, reading Reading, all []members.Member) {
	if reading.Suspended {
		state.Expected, state.Paused = true, true
		state.Phase = common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES
		state.Reason, state.Message = reasonSuspended, sentence.Say("%s is suspended until its queue admits it", object.GetKind())
		return
	}
	if m := neverStarts(all); m != nil {
		state.Fail(m.State.Failure.In(m.String()))
		state.StillRuns = true
		return
	}
	if reading.Begun && !hasPrimary(all) {
		state.Fail(failure.New(failure.DeletedExternally, "the main pod of %s %s was deleted", object.GetKind(), object.GetName()))
		state.StillRuns = true
		return
	}
	if len(all) == 0 && reading.Phase < common.ActionPhase_ACTION_PHASE_RUNNING {
		p.withoutPods(state, object, reading)
		return
	}
	if reading.Phase < common.ActionPhase_ACTION_PHASE_RUNNING || reading.Message == "" {
		ofMembers(state, all)
	}
	if state.Phase == common.ActionPhase_ACTION_PHASE_INITIALIZING && !state.Stuck {
		state.Expected = true
	}
	for _, m := range all {
		if m.State.Recheck > 0 && (state.Recheck == 0 || m.State.Recheck < state.Recheck) {
			state.Recheck = m.State.Recheck
		}
		if m.State.Notice.Message != "" {
			state.Notice = m.State.Notice
		}
	}
}

// explainQueue adds what Kueue says of an object that waits for its queue.
func (p *Plugin) explainQueue(ctx context.Context, state *plugin.State, object *unstructured.Unstructured) error {
	if state.Reason != reasonSuspended {
		return nil
	}
	why, err := kueue.Why(ctx, p.deps.Live, object)
	if why != "" {
		state.Message = sentence.Say("%s is suspended: %s", object.GetKind(), why)
	}
	state.Recheck = kueue.Recheck
	return err
}

// ofMembers adds what the pods say of an attempt that the operator has not settled. Its work begins when all of them run.
func ofMembers(state *plugin.State, all []members.Member) {
	var waiting []members.Member
	for _, m := range all {
		if m.State.Phase < common.ActionPhase_ACTION_PHASE_RUNNING {
			waiting = append(waiting, m)
		}
	}
	if len(waiting) == 0 {
		if len(all) > 0 {
			state.Phase, state.Reason, state.Message = common.ActionPhase_ACTION_PHASE_RUNNING, "", ""
		}
		if again := restarted(all); again != "" {
			state.Reason, state.Message = "Restarted", again
		}
		return
	}
	first := slices.MinFunc(waiting, func(a, b members.Member) int { return cmp.Compare(urgency(a), urgency(b)) })
	if state.Phase < common.ActionPhase_ACTION_PHASE_RUNNING {
		state.Phase = first.State.Phase
	}
	if first.State.Message != "" {
		state.Reason, state.Message, state.Stuck = first.State.Reason, first.String()+": "+first.State.Message, first.State.Stuck
	}
}

// urgency orders pods that do not run by how much their owner should know: first one that waits for something unusual.
func urgency(m members.Member) int {
	switch {
	case m.State.Stuck:
		return 0
	case m.State.Message != "":
		return 1
	}
	return 2
}

// restarted names the pods whose containers run again after they failed; empty if there is none.
func restarted(all []members.Member) string {
	var words []string
	for _, m := range all {
		if count, why := m.Restarts(); count > 0 {
			words = append(words, strings.TrimSuffix(fmt.Sprintf("%s was restarted (%d): %s", m, count, why), ": "))
		}
	}
	return strings.Join(words, "; ")
}

// withoutPods is the state of an object that has no pods yet.
func (p *Plugin) withoutPods(state *plugin.State, object *unstructured.Unstructured, reading Reading) {
	if reading.Phase == common.ActionPhase_ACTION_PHASE_INITIALIZING && reading.Message != "" {
		state.Expected = true // the operator works on it, and says what it does
		return
	}
	age := p.clock.Now().Sub(object.GetCreationTimestamp().Time)
	if age < operatorPause {
		state.Phase, state.Recheck = common.ActionPhase_ACTION_PHASE_QUEUED, operatorPause-max(age, 0)
		return
	}
	state.Phase = common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES
	if reading.Message == "" {
		state.Reason = "OperatorSilent"
		state.Message = sentence.Say("%s %s waits for %s to create its pods; the events of the object and the operator's log say why it does not",
			object.GetKind(), object.GetName(), p.kind.Install)
	}
}

// linksOf are the links of an attempt, by name: those that its pods have in common once, and those that differ by pod with the names of
// the pods. The links of the primary pod keep their names.
func linksOf(all []members.Member, ofPods map[string]bool) []*core.TaskLog {
	var result []*core.TaskLog
	at := map[string]int{}
	for _, m := range all {
		for _, link := range m.State.LogLinks {
			if ofPods[link.GetName()] && !m.Primary {
				link = proto.CloneOf(link)
				link.Name = fmt.Sprintf("%s (%s)", link.GetName(), m.Pod.Name)
			}
			if i, known := at[link.GetName()]; known {
				result[i] = link // of a pod that began later
				continue
			}
			at[link.GetName()] = len(result)
			result = append(result, link)
		}
	}
	return result
}

// addMembers adds what the pods say of the attempt's times and logs.
func addMembers(state *plugin.State, all []members.Member) {
	if len(all) == 0 {
		return
	}
	state.LogContext = members.LogContext(all)
	for _, m := range all {
		if !m.Primary {
			continue
		}
		if started := m.State.StartedAt; !started.IsZero() && (state.StartedAt.IsZero() || started.Before(state.StartedAt)) {
			state.StartedAt = started
		}
		if state.EndedAt.Before(m.State.EndedAt) {
			state.EndedAt = m.State.EndedAt
		}
	}
	if state.Phase < common.ActionPhase_ACTION_PHASE_SUCCEEDED {
		state.EndedAt = time.Time{}
	}
}
