package notifications

import (
	"fmt"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Reviewer judges the notification rules of runs when they are created. It depends on the configuration alone.
type Reviewer struct {
	book *book
	mail bool
}

// NewReviewer returns the reviewer of a valid configuration.
func NewReviewer(config Config) (*Reviewer, error) {
	b, err := newBook(config)
	if err != nil {
		return nil, fmt.Errorf("notifications.%w", err)
	}
	return &Reviewer{book: b, mail: config.Email.Host != ""}, nil
}

// Everywhere has a bit 1<<phase for each phase that rules name which apply to all runs.
func (r *Reviewer) Everywhere() int32 { return r.book.everywhere() }

// Review returns the phases that the rules of a run name, as bits 1<<phase; bit 0 turns all notifications of the run off.
// Templates that could never be delivered are an invalid_argument. Names that the configuration does not have are not:
// the configuration of a server must not decide whether a run starts. They are returned as notes, and the delivery is
// listed as given up when the run ends.
func (r *Reviewer) Review(spec *task.RunSpec) (bits int32, notes []string, err error) {
	switch name := spec.GetNotificationRuleName(); {
	case name == ruleOff:
		return 1, nil, nil
	case name != "":
		if known, ok := r.book.rules[name]; ok {
			return known.phases, nil, nil
		}
		note := fmt.Sprintf("notification_rule_name: there is no rule %q in notifications.rules, so no notification is sent; the rules are %s", name, r.book.ruleNames())
		return allPhases, []string{note}, nil
	}
	rules := spec.GetNotificationRules().GetRules()
	if len(rules) > maxRules {
		return 0, nil, rpc.InvalidArgument("run_spec.notification_rules.rules", "has %d rules; at most %d are allowed", len(rules), maxRules)
	}
	mail := false
	for i, rule := range rules {
		field := fmt.Sprintf("run_spec.notification_rules.rules[%d]", i)
		bits |= phasesOf(rule.GetOnPhases()...)
		if name := rule.GetDeliveryConfigName(); name != "" {
			if r.book.deliveries[name] == nil {
				notes = append(notes, fmt.Sprintf(
					"notification_rules: there is no delivery %q in notifications.deliveries, so no notification is sent; the deliveries are %s", name, r.book.deliveryNames()))
			}
			continue
		}
		paused := len(rule.GetOnPhases()) == 1 && rule.GetOnPhases()[0] == common.ActionPhase_ACTION_PHASE_PAUSED
		if err := checkDelivery(field+".delivery_template", rule.GetDeliveryTemplate(), paused); err != nil {
			return 0, nil, err
		}
		mail = mail || rule.GetDeliveryTemplate().GetEmail() != nil
	}
	if mail && !r.mail {
		notes = append(notes, "notification_rules: no e-mail is sent, since this server has no mail server (notifications.email.host)")
	}
	return bits, notes, nil
}

// allPhases are those that any rule may name: a rule that is not known yet may be one day.
var allPhases = phasesOf(
	common.ActionPhase_ACTION_PHASE_SUCCEEDED, common.ActionPhase_ACTION_PHASE_FAILED, common.ActionPhase_ACTION_PHASE_ABORTED,
	common.ActionPhase_ACTION_PHASE_TIMED_OUT,
)
