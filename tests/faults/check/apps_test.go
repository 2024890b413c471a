package check_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// goodApp is an app in one cluster that moved from east to west, and got a second revision there.
func goodApp() check.App {
	at := func(second int) time.Time { return created.Add(time.Duration(second) * time.Second) }
	answer := func(second, status int, tag, cluster string) check.Answer {
		return check.Answer{Begun: at(second), At: at(second), Status: status, Said: script.AppAnswer{App: "web", Tag: tag, Cluster: cluster}}
	}
	return check.App{
		Name: "web", Clusters: 1, Healed: at(60), Assigned: []string{"west"}, Having: []string{"west"},
		Deployed: []check.Deployed{{Tag: "v1", Asked: at(0), Done: at(1)}, {Tag: "v2", Asked: at(20), Done: at(21)}},
		Answers: []check.Answer{
			{Begun: at(1), At: at(1), Status: http.StatusNotFound}, answer(10, http.StatusOK, "v1", "east"), {Begun: at(11), At: at(12)},
			{Begun: at(13), At: at(13), Status: http.StatusServiceUnavailable}, {Begun: at(14), At: at(14), Status: http.StatusBadGateway},
			answer(30, http.StatusOK, "v2", "west"),
		},
		Last: answer(90, http.StatusOK, "v2", "west"),
	}
}

func TestEveryBrokenPromiseOfAppsIsFound(t *testing.T) {
	require.Empty(t, check.Check(&check.Evidence{Apps: []check.App{goodApp()}}))
	for words, damage := range map[string]func(e *check.Evidence, a *check.App){
		`a request was answered by revision "v2" of app "web" in cluster east`: func(_ *check.Evidence, a *check.App) { a.Answers[1].Said.Tag = "v2" }, // no one had asked for it
		`a request was answered by revision "v1" of app "other"`:               func(_ *check.Evidence, a *check.App) { a.Answers[1].Said.App = "other" },
		"a request was answered with 404":                                      func(_ *check.Evidence, a *check.App) { a.Answers[5].Status = http.StatusNotFound },
		"a request was answered with 500":                                      func(_ *check.Evidence, a *check.App) { a.Answers[5].Status = http.StatusInternalServerError },
		"a request was answered with 502":                                      func(_ *check.Evidence, a *check.App) { a.Answers[4].At = a.Healed.Add(time.Minute) },
		"a request was answered with 0":                                        func(_ *check.Evidence, a *check.App) { a.Answers[2].At = a.Healed.Add(time.Minute) },
		"never answered":                                                       func(_ *check.Evidence, a *check.App) { a.Answers = a.Answers[2:5] },
		"is placed in [], and should be in 1":                                  func(_ *check.Evidence, a *check.App) { a.Assigned = nil },
		"is placed in [west], and has pods in [east west]":                     func(_ *check.Evidence, a *check.App) { a.Having = []string{"east", "west"} },
		"its newest revision is v2, and it answers with 200: v1":               func(_ *check.Evidence, a *check.App) { a.Last.Said.Tag = "v1" },
		"its newest revision is v2, and it answers with 503":                   func(_ *check.Evidence, a *check.App) { a.Last.Status = http.StatusServiceUnavailable },
		"is placed in [west], and answers from east":                           func(_ *check.Evidence, a *check.App) { a.Last.Said.Cluster = "east" },
		"deployments app-web in cluster east is left of an app that was removed": func(e *check.Evidence, _ *check.App) {
			e.AppObjects = []string{"deployments app-web in cluster east"}
		},
	} {
		t.Run(words, func(t *testing.T) {
			e := &check.Evidence{Apps: []check.App{goodApp()}}
			damage(e, &e.Apps[0])
			var texts []string
			for _, v := range check.Check(e) {
				require.Equal(t, "I27", v.Promise)
				texts = append(texts, v.Text)
			}
			require.Contains(t, strings.Join(texts, "\n"), words)
		})
	}
}

// An app that was removed is no longer known, and nothing else is asked of it.
func TestAnAppThatWasRemovedMayBeUnknown(t *testing.T) {
	a := goodApp()
	a.Removed, a.Assigned, a.Having, a.Last = created.Add(40*time.Second), nil, nil, check.Answer{}
	a.Answers = append(a.Answers, check.Answer{Begun: created.Add(50 * time.Second), At: created.Add(50 * time.Second), Status: http.StatusUnauthorized})
	require.Empty(t, check.Check(&check.Evidence{Apps: []check.App{a}}))
}

// A gateway whose stream of routes hangs notices that after a minute of silence.
func TestAnAppMayBeUnknownWhileStreamsHang(t *testing.T) {
	for late, problems := range map[time.Duration]int{time.Minute: 0, 2 * time.Minute: 1} {
		a := goodApp()
		a.Hung = true
		at := a.Healed.Add(late)
		a.Answers = append(a.Answers, check.Answer{Begun: at, At: at, Status: http.StatusUnauthorized})
		require.Len(t, check.Check(&check.Evidence{Apps: []check.App{a}}), problems)
	}
}
