package main

import (
	"math/rand/v2"
	"slices"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/notification"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
	"github.com/flyte-binary/flyte-binary/tests/faults/sink"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// The rules that runs bring along.
const (
	endedRule  = "ended"
	pausedRule = "paused"
	goneRule   = "gone" // its receiver refuses every notification
)

// everyRun is the rule of the configuration that no run has to ask for.
func everyRun() check.Rule {
	return check.Rule{Name: stack.FailuresRule, Phases: []int32{check.Failed, check.TimedOut}}
}

// planRules draws the rules of a run.
func planRules(r *rand.Rand, root script.Node) []check.Rule {
	ends := []int32{check.Succeeded, check.Failed, check.Aborted, check.TimedOut}
	rules := []check.Rule{everyRun()}
	switch r.IntN(5) {
	case 0:
		return rules
	case 1:
		return append(rules, check.Rule{Name: stack.NamedRule, Phases: ends})
	case 3:
		return append(rules, check.Rule{Name: sink.MailRule, Phases: ends})
	case 2:
		rules = append(rules, check.Rule{Name: goneRule, Phases: ends, Refused: true})
	}
	rules = append(rules, check.Rule{Name: endedRule, Phases: ends})
	if slices.ContainsFunc(root.All(), func(n script.Node) bool { return n.Kind == script.Condition }) {
		rules = append(rules, check.Rule{Name: pausedRule, Phases: []int32{check.Paused}})
	}
	return rules
}

// labelsOf are those of a run.
func labelsOf(root script.Node) *task.Labels {
	return &task.Labels{Values: map[string]string{"tenant": root.Tenant.Content}}
}

// runSpec asks for the rules that are not those of every run.
func runSpec(run *drivenRun, receiver *sink.Server) *task.RunSpec {
	spec, list := &task.RunSpec{Labels: labelsOf(run.root)}, &task.InlineRuleList{}
	if run.where != "" {
		spec.Labels.Values[stack.WhereLabel] = run.where
	}
	for _, rule := range run.rules {
		hook := &notification.WebhookDeliveryTemplate{
			Url: receiver.NoteURL(rule.Name), Method: notification.HttpMethod_HTTP_METHOD_POST, BodyTemplate: sink.NoteBody,
		}
		switch rule.Name {
		case stack.FailuresRule:
			continue
		case stack.NamedRule, sink.MailRule:
			spec.NotificationSettings = &task.RunSpec_NotificationRuleName{NotificationRuleName: rule.Name}
			return spec
		case goneRule:
			hook.Url = receiver.GoneURL()
		case pausedRule:
			hook.BodyTemplate = sink.PausedBody
		}
		inline := &task.InlineRule{Delivery: &task.InlineRule_DeliveryTemplate{
			DeliveryTemplate: &notification.DeliveryConfigTemplate{Webhook: hook},
		}}
		for _, phase := range rule.Phases {
			inline.OnPhases = append(inline.OnPhases, common.ActionPhase(phase))
		}
		list.Rules = append(list.Rules, inline)
	}
	if len(list.GetRules()) > 0 {
		spec.NotificationSettings = &task.RunSpec_NotificationRules{NotificationRules: list}
	}
	return spec
}
