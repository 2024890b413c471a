package check

import (
	"fmt"
	"slices"
)

// Violation is a promise that was not kept.
type Violation struct {
	Promise string // such as I2
	Text    string
}

func (v Violation) String() string { return v.Promise + ": " + v.Text }

// findings gathers violations of one promise.
type findings struct {
	promise string
	list    []Violation
}

func (f *findings) add(format string, args ...any) {
	f.list = append(f.list, Violation{Promise: f.promise, Text: fmt.Sprintf(format, args...)})
}

// At most maxFindings violations of each promise are reported; the rest are counted.
const maxFindings = 20

// Check checks the evidence against every promise.
func Check(e *Evidence) []Violation {
	var all []Violation
	for _, promise := range []struct {
		name  string
		judge func(*Evidence, *findings)
	}{
		{"I1", nothingLost}, {"I2", terminalAbsorbs}, {"I3", oneLivePod}, {"I4", budgets}, {"I5", abortsStop}, {"I6", parentsSee},
		{"I7", watchesInOrder}, {"I8", cacheServes}, {"I9", slotsFireOnce}, {"I10", noOrphans}, {"I11", bounded},
		{"I17", everyoneIsNotified}, {"I18", eventsArePublished}, {"I19", secretsOrNothing}, {"I20", artifactsOnce}, {"I20", usesAreKnown}, {"I22", poolsHold}, {"I23", nothingCrosses}, {"I23", outputsAreOwn}, {"I24", changesAreOnRecord}, {"I24", recordIsSent}, {"I25", oneJobEach}, {"I26", oneAttemptLives}, {"I26", clustersAreHeard}, {"I26", oldPodsEndFirst}, {"I27", appsAnswer}, {"I27", appsHaveOneOwner}, {"usage", curvesHold}, {"outcome", asWritten},
	} {
		f := &findings{promise: promise.name}
		promise.judge(e, f)
		if len(f.list) > maxFindings {
			left := len(f.list) - maxFindings
			f.list = f.list[:maxFindings]
			f.add("... and %d more", left)
		}
		all = append(all, f.list...)
	}
	return all
}

func (r *Run) row(name string) *Row {
	i := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Rows[i]
}

func (r *Run) byID(id int64) *Row {
	i := slices.IndexFunc(r.Rows, func(row Row) bool { return row.ID == id })
	if i < 0 {
		return nil
	}
	return &r.Rows[i]
}

// stopped reports whether an action or one of its ancestors was aborted.
func (r *Run) stopped(name string) bool {
	for row := r.row(name); row != nil; row = r.row(row.Parent) {
		if slices.ContainsFunc(r.Aborts, func(a Abort) bool { return a.Action == row.Name }) {
			return true
		}
		if row.Parent == "" {
			return false
		}
	}
	return false
}
