package check

import "time"

// Shown is an answer with something of a tenant that its caller does not belong to, or one that worked although it must not.
type Shown struct {
	Caller, Procedure string
	Of                string    // the project of the tenant
	What              string    // what worked; empty for an answer that has something of the tenant
	Begun, At         time.Time // when the call was made, and when this part of the answer came
}

// Visit is the time during which a caller had a right to see a tenant.
type Visit struct {
	Caller, Of string
	// From is when the right was asked for, and Until when its end was acknowledged; zero if it has not ended.
	From, Until time.Time
	// Grace is how long after that the end may be unknown to a server.
	Grace time.Duration
}

// Asked is what a caller has asked.
type Asked struct {
	Caller string
	// Calls are all calls, and Own those whose answers had something of the caller's own tenant.
	Calls, Own int
	// Blind means that some answers could not be searched.
	Blind bool
}

// nothingCrosses: no answer ever had something of another tenant, but while its caller had a right to that.
func nothingCrosses(e *Evidence, f *findings) {
	for _, shown := range e.Shown {
		if !visited(e.Visits, shown) {
			what := shown.What
			if what == "" {
				what = "has something of it"
			}
			f.add("%s asked for %s at %s, and at %s the answer of %s %s", shown.Caller, shown.Of, shown.Begun.Format(clock), shown.At.Format(clock), shown.Procedure, what)
		}
	}
	for _, asked := range e.Asked {
		if asked.Blind {
			f.add("answers to %s were compressed, so that they could not be searched", asked.Caller)
		}
		if asked.Own == 0 {
			f.add("%s saw nothing of its own in %d answers, so that they prove nothing", asked.Caller, asked.Calls)
		}
	}
}

const clock = "15:04:05.000"

// visited reports whether a caller had the right to what it was shown: a call that began while it had it may be answered later, but
// a stream must end.
func visited(visits []Visit, shown Shown) bool {
	for _, visit := range visits {
		if visit.Caller != shown.Caller || visit.Of != shown.Of || shown.At.Before(visit.From) {
			continue
		}
		if end := visit.Until.Add(visit.Grace); visit.Until.IsZero() || shown.At.Before(end) {
			return true
		}
	}
	return false
}
