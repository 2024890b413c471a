package check

import (
	"fmt"
	"slices"
)

// Rule says who is notified of a run.
type Rule struct {
	Name   string
	Phases []int32 // Paused is for actions that wait, the others are for the end of the run
	// Refused means that its receiver refuses every notification.
	Refused bool
}

// Delivery is what the server says about a notification.
type Delivery struct {
	ID, Rule, Action string
	Phase            int32
	State            int16
	Error            string
}

// Told is a notification that the receiver took.
type Told struct {
	ID, Rule, Action string // Action is empty for the end of a run
	Phase            int32
}

// The states of deliveries.
const (
	Delivered = 2
	Dead      = 3
)

// everyoneIsNotified: each rule that names the end of the run, or what waits in it, has one notification. Its receiver took it
// at least once, always with the same id, or it is in the list of those that were given up, where its receiver refuses it.
// There is no other notification.
func everyoneIsNotified(e *Evidence, f *findings) {
	for i := range e.Runs {
		run := &e.Runs[i]
		wanted := run.wanted()
		byID := map[string]Delivery{}
		found := map[string]int{}
		for _, d := range run.Deliveries {
			byID[d.ID] = d
			what := occasion(d.Rule, d.Action, d.Phase)
			if found[what]++; found[what] > 1 {
				f.add("run %s has two notifications of %s", run.Name, what)
			}
			rule, ok := wanted[what]
			took := slices.ContainsFunc(run.Told, func(t Told) bool { return t.ID == d.ID })
			switch {
			case !ok:
				f.add("run %s has a notification of %s, which no rule asks for", run.Name, what)
			case rule.Refused && d.State != Dead:
				f.add("run %s: the notification of %s is refused, and in state %d", run.Name, what, d.State)
			case !rule.Refused && d.State != Delivered:
				f.add("run %s: the notification of %s is in state %d: %s", run.Name, what, d.State, d.Error)
			case !rule.Refused && !took:
				f.add("run %s: the notification of %s counts as delivered and its receiver has none", run.Name, what)
			}
		}
		for what := range wanted {
			if found[what] == 0 {
				f.add("run %s has no notification of %s", run.Name, what)
			}
		}
		for _, told := range run.Told {
			d, ok := byID[told.ID]
			switch {
			case !ok:
				f.add("run %s: a receiver has the notification %s, which is not in the list", run.Name, told.ID)
			case d.Rule != told.Rule || d.Phase != told.Phase || (told.Action != "" && told.Action != d.Action):
				f.add("run %s: the notification of %s was about %s", run.Name, occasion(d.Rule, d.Action, d.Phase), occasion(told.Rule, told.Action, told.Phase))
			}
		}
	}
}

func occasion(rule, action string, phase int32) string {
	return fmt.Sprintf("%s in phase %d to %s", action, phase, rule)
}

// wanted are the notifications that the rules of a run ask for.
func (r *Run) wanted() map[string]Rule {
	wanted := map[string]Rule{}
	root := r.row("a0")
	for _, rule := range r.Rules {
		if root != nil && slices.Contains(rule.Phases, root.Phase) {
			wanted[occasion(rule.Name, root.Name, root.Phase)] = rule
		}
		if !slices.Contains(rule.Phases, Paused) {
			continue
		}
		for _, event := range r.Events {
			if row := r.byID(event.Action); row != nil && event.Phase == Paused {
				wanted[occasion(rule.Name, row.Name, Paused)] = rule
			}
		}
	}
	return wanted
}
