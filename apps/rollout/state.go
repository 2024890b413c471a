// Package rollout decides what should run of an app: how many replicas of which revision, which revision gets the requests,
// and what the app's status is. Its functions are pure: they see the declared state, what a cluster observes, the load and
// the time, and keep what they must remember in a State that the caller stores.
package rollout

import (
	"time"
)

// Revision is what a decision needs of a revision.
type Revision struct {
	// Number counts from 1; 0 means none.
	Number uint64 `json:"number,omitempty"`
	Scale  Scale  `json:"scale,omitzero"`
	// TakesPort says that each replica can be given a port of its own.
	TakesPort bool `json:"takesPort,omitempty"`
}

// Scale is how many replicas a revision has.
type Scale struct {
	// Min and Max bound the replicas; Max is at least 1 and at least Min. With Min 0 an idle app sleeps.
	Min uint32 `json:"min,omitempty"`
	Max uint32 `json:"max,omitempty"`
	// Concurrency is how many requests one replica should have in flight, Rate how many it should get a second. 0 means
	// that the declaration does not say.
	Concurrency uint32 `json:"concurrency,omitempty"`
	Rate        uint32 `json:"rate,omitempty"`
	// Calm is how long fewer replicas must have been enough before there are fewer.
	Calm time.Duration `json:"calm,omitempty"`
}

// Observed is what a cluster has of one revision.
type Observed struct {
	// Replicas counts all, also those that start or drain; Ready those that accept requests and do not drain.
	Replicas, Ready int
	// Problem is why the revision is not what it should be; nil if nothing is known to be wrong.
	Problem *Problem
}

// Problem is why a revision does not run as it should.
type Problem struct {
	// Substate is the app.Status.Substate.
	Substate int32
	Message  string
	// Permanent problems do not go away by themselves.
	Permanent bool
}

// Load is the load of an app over all gateways.
type Load struct {
	// Concurrency is the mean number of requests in flight or waiting, Rate how many ended in a second.
	Concurrency, Rate float64
	// Busy says that there are requests at all, BusyAt when there were some last; zero if that is not known.
	Busy   bool
	BusyAt time.Time
}

// Limits bound how long things may take.
type Limits struct {
	// Start is how long a revision may take to its first ready replica.
	Start time.Duration
	// Drain is how long a revision keeps its replicas after another has taken its place.
	Drain time.Duration
	// Stop is how long a stopped app waits for the report that its replicas are gone.
	Stop time.Duration
}

// Input is what is known when a decision is made.
type Input struct {
	Now time.Time
	// Stopped is the declared state.
	Stopped bool
	// Newest is the newest revision.
	Newest Revision
	// Observed is the latest report of the cluster, by revision; Reported says that there was one.
	Observed map[uint64]Observed
	Reported bool
	// Applied is the version that the cluster had applied when it reported, Version that of the last decision.
	Applied, Version int64
	// Shared says that the replicas of the cluster share one network, and its ports.
	Shared bool
	// Silence says why nothing can be expected of the cluster at the moment; empty while it reports.
	Silence string
	// Wake says that a request waits.
	Wake bool
	// Load is nil when it is not known.
	Load   *Load
	Limits Limits
}

// State is what was decided, and what later decisions have to remember.
type State struct {
	// Newest is the newest revision that a decision has seen.
	Newest uint64 `json:"newest,omitempty"`
	// Serving is the last revision that has worked; Number is 0 if none has.
	Serving Revision `json:"serving,omitzero"`
	// Replicas is how many Serving should have.
	Replicas uint32 `json:"replicas,omitempty"`

	// Trial says that the newest revision is being started, since TrialSince and with the version TrialVersion.
	Trial        bool      `json:"trial,omitempty"`
	TrialSince   time.Time `json:"trialSince,omitzero"`
	TrialVersion int64     `json:"trialVersion,omitempty"`
	// Failure is why the newest revision could not be started; nil while that is not known. A revision without another one
	// to serve in its place stays on trial.
	Failure *Failure `json:"failure,omitempty"`

	// Draining is the revision whose place was taken, with its replicas, until DrainUntil. 0 means none.
	Draining         uint64    `json:"draining,omitempty"`
	DrainingReplicas uint32    `json:"drainingReplicas,omitempty"`
	DrainUntil       time.Time `json:"drainUntil,omitzero"`

	// CalmSince is since when fewer replicas than Replicas have been enough; Peak how many were.
	CalmSince time.Time `json:"calmSince,omitzero"`
	Peak      uint32    `json:"peak,omitempty"`
	// UnreadySince is since when the serving revision has had no ready replica though it should; FromZero says that it
	// slept before, Broken why it is given up.
	UnreadySince time.Time `json:"unreadySince,omitzero"`
	FromZero     bool      `json:"fromZero,omitempty"`
	Broken       *Failure  `json:"broken,omitempty"`

	Stopped      bool      `json:"stopped,omitempty"`
	StoppedSince time.Time `json:"stoppedSince,omitzero"`
	Silent       bool      `json:"silent,omitempty"`

	// Want is what the cluster should run, by revision; Route is the revision that gets requests, 0 for none.
	Want  []Want `json:"want,omitempty"`
	Route uint64 `json:"route,omitempty"`
	// Condition is the status.
	Condition Condition `json:"condition,omitzero"`
	// NextAt is when the passage of time alone may change the decision; zero for never.
	NextAt time.Time `json:"nextAt,omitzero"`
}

// Failure is why a revision does not work.
type Failure struct {
	Substate int32  `json:"substate,omitempty"`
	Message  string `json:"message,omitempty"`
}

// Want is how many replicas of a revision should run.
type Want struct {
	Revision uint64 `json:"revision"`
	Replicas uint32 `json:"replicas,omitempty"`
}

// Condition is the status of an app. The numbers are those of app.Status.
type Condition struct {
	Status   int32  `json:"status,omitempty"`
	Substate int32  `json:"substate,omitempty"`
	Revision uint64 `json:"revision,omitempty"`
	Message  string `json:"message,omitempty"`
}

// SameRun reports whether two states ask the same of a cluster.
func (s State) SameRun(other State) bool {
	if s.Route != other.Route || len(s.Want) != len(other.Want) {
		return false
	}
	for i := range s.Want {
		if s.Want[i] != other.Want[i] {
			return false
		}
	}
	return true
}
