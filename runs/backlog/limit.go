package backlog

import "github.com/flyte-binary/flyte-binary/runs/store/worklists"

// limit is one field of the configuration.
type limit struct {
	label   string // in the metric
	things  string // what is counted
	setting string
	most    int    // 0 means no limit
	says    string // what is wrong, as a format of the owner and most
	under   func(worklists.UnderWay) int
}

// limits are those of a caller, or those of a project.
func (b *Backlog) limits(who owner) []limit {
	actions := func(u worklists.UnderWay) int { return u.Actions }
	if who.caller != "" {
		return []limit{{
			label: "caller actions", things: "unfinished actions", setting: "runs.backlog.callerActions", most: b.config.CallerActions,
			says: "the runs of %s have %d unfinished actions", under: actions,
		}}
	}
	return []limit{
		{
			label: "waiting runs", things: "waiting runs", setting: "runs.backlog.waitingRuns", most: b.config.WaitingRuns,
			says: "project %s has %d runs that wait to start", under: func(u worklists.UnderWay) int { return u.WaitingRuns },
		},
		{
			label: "actions", things: "unfinished actions", setting: "runs.backlog.actions", most: b.config.Actions,
			says: "project %s has %d unfinished actions", under: actions,
		},
	}
}

// limited reports whether an owner has any limit, so that it is worth counting.
func (b *Backlog) limited(who owner) bool {
	for _, limit := range b.limits(who) {
		if limit.most > 0 {
			return true
		}
	}
	return false
}

func (o owner) name() string {
	if o.caller != "" {
		return o.caller
	}
	return o.project
}
