package check

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// App is what is known of an app.
type App struct {
	Name string
	// Clusters is in how many it runs.
	Clusters int
	// Deployed are its revisions, in order, and Removed when it was removed, if it was before the end of the storm.
	Deployed []Deployed
	Removed  time.Time
	// Answers are those to requests through the gateway.
	Answers []Answer
	// Healed is when all faults were over; then its clusters, and those that it has pods in, were read until they agreed.
	Healed           time.Time
	Assigned, Having []string
	// Hung says that streams hung. A gateway notices that from a silence of a minute, and uses the routes that it has until then.
	Hung bool
	// Last is the last answer before its end.
	Last Answer
}

// Deployed is a revision that was asked for.
type Deployed struct {
	Tag string
	// Asked is when the first request for it was sent, and Done when one was acknowledged.
	Asked, Done time.Time
}

// Answer is what a request for an app got.
type Answer struct {
	Begun, At time.Time
	// Status is 0 if there was no answer.
	Status int
	// Said is what a replica said.
	Said script.AppAnswer
	Text string
}

// recovered is how long after the end of the faults requests may break that were on their way to a replica that ended, or were held for
// one that starts. Where every core has ten programs to run, a replica needs half a minute to start.
const recovered = time.Minute

// routed is how long a gateway may not know a new app.
const routed = 15 * time.Second

// appsAnswer: the gateway reaches a live replica of the app that was asked for, or says that it reaches none.
func appsAnswer(e *Evidence, f *findings) {
	for i := range e.Apps {
		one := &e.Apps[i]
		served := 0
		for _, answer := range one.Answers {
			switch {
			case answer.Status == http.StatusOK:
				served++
				one.judge(answer, f)
			case answer.Status == http.StatusServiceUnavailable:
			case (answer.Status == http.StatusNotFound || answer.Status == http.StatusUnauthorized) && one.mayBeUnknown(answer):
			case answer.At.Before(one.Healed.Add(recovered)) && slices.Contains([]int{0, http.StatusBadGateway, http.StatusGatewayTimeout}, answer.Status):
			default:
				f.add("app %s: a request was answered with %d: %s", one.Name, answer.Status, answer.Text)
			}
		}
		if served == 0 && one.Removed.IsZero() && (!one.Hung || one.Last.Status != http.StatusOK) {
			f.add("app %s never answered", one.Name)
		}
	}
}

// judge finds answers of another app, or of a revision that no one had asked for.
func (a *App) judge(answer Answer, f *findings) {
	known := slices.ContainsFunc(a.Deployed, func(d Deployed) bool { return d.Tag == answer.Said.Tag && d.Asked.Before(answer.At) })
	if answer.Said.App != a.Name || !known {
		f.add("app %s: a request was answered by revision %q of app %q in cluster %s", a.Name, answer.Said.Tag, answer.Said.App, answer.Said.Cluster)
	}
}

// mayBeUnknown reports whether an app need not exist yet, or no longer, when a request for it was answered. Routes follow within a moment.
// Without a sign-in, an app that does not exist is answered with 401.
func (a *App) mayBeUnknown(answer Answer) bool {
	created := a.Deployed[0].Done
	if a.Hung && answer.Begun.Before(a.Healed.Add(stream.MaxSilence+routed)) {
		return true
	}
	return created.IsZero() || answer.Begun.Before(created.Add(routed)) || !a.Removed.IsZero() && answer.At.After(a.Removed)
}

// appsHaveOneOwner: when all clusters are back, an app runs where the control plane says, and nowhere else, and answers with its newest
// revision from there; nothing of an app that was removed is left.
func appsHaveOneOwner(e *Evidence, f *findings) {
	for _, left := range e.AppObjects {
		f.add("%s is left of an app that was removed", left)
	}
	for i := range e.Apps {
		if problem := e.Apps[i].Problem(); problem != "" {
			f.add("%s", problem)
		}
	}
}

// Problem says what is wrong with an app when everything is over; empty for nothing.
func (a *App) Problem() string {
	newest := a.Deployed[len(a.Deployed)-1].Tag
	switch {
	case !a.Removed.IsZero():
		return ""
	case len(a.Assigned) != a.Clusters:
		return fmt.Sprintf("app %s is placed in %v, and should be in %d", a.Name, a.Assigned, a.Clusters)
	case !slices.Equal(a.Assigned, a.Having):
		return fmt.Sprintf("app %s is placed in %v, and has pods in %v", a.Name, a.Assigned, a.Having)
	case a.Last.Status != http.StatusOK || a.Last.Said.Tag != newest:
		return fmt.Sprintf("app %s: its newest revision is %s, and it answers with %d: %s %s", a.Name, newest, a.Last.Status, a.Last.Said.Tag, a.Last.Text)
	case !slices.Contains(a.Assigned, a.Last.Said.Cluster):
		return fmt.Sprintf("app %s is placed in %v, and answers from %s", a.Name, a.Assigned, a.Last.Said.Cluster)
	}
	return ""
}
