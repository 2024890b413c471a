// Package schedule computes the slots of a schedule: the times at which a trigger fires. It is pure and imports only the
// generated messages. docs/triggers.md describes what happens when clocks change.
package schedule

import (
	"fmt"
	"math"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

// Horizon is how far ahead a slot must be found. A schedule without one is refused when it is deployed.
const Horizon = 5 * 366 * 24 * time.Hour

// Error says what is wrong with a schedule.
type Error struct {
	// Field is the path of the wrong field below the schedule, such as cron.timezone.
	Field string
	// Problem is the reason in words.
	Problem string
}

// Error implements error.
func (e *Error) Error() string { return e.Field + ": " + e.Problem }

func wrong(field, format string, args ...any) error {
	return &Error{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// ticker is one way to compute slots.
type ticker interface {
	// next is the first slot after a time, and whether there is one within some years.
	next(after time.Time) (time.Time, bool)
	words() string
}

// Schedule computes slots. It is immutable.
type Schedule struct{ ticker }

// New reads a schedule that is to be deployed. anchor is the start of fixed rates that have none. It returns an *Error for a schedule that is
// not valid, that means something else than it seems to, or that has no slot within Horizon after now.
func New(spec *task.Schedule, anchor, now time.Time) (Schedule, error) {
	s, err := Parse(spec, anchor)
	if err != nil {
		return Schedule{}, err
	}
	if c, ok := s.ticker.(*cron); ok && c.doubt != nil {
		return Schedule{}, c.doubt
	}
	if next, ok := s.Next(now); !ok || next.Sub(now) > Horizon {
		field := "cron.expression"
		switch spec.GetExpression().(type) {
		case *task.Schedule_Rate:
			field = "rate"
		case *task.Schedule_CronExpression:
			field = "cron_expression"
		}
		return Schedule{}, wrong(field, "never fires within the next five years")
	}
	return s, nil
}

// Parse reads a schedule that was deployed, maybe by a version with fewer checks, without asking when it fires.
func Parse(spec *task.Schedule, anchor time.Time) (Schedule, error) {
	var t ticker
	var err error
	switch expression := spec.GetExpression().(type) {
	case *task.Schedule_Rate:
		t, err = newRate(expression.Rate, anchor)
	case *task.Schedule_Cron:
		t, err = newCron("cron.expression", expression.Cron.GetExpression(), "cron.timezone", expression.Cron.GetTimezone())
	case *task.Schedule_CronExpression:
		t, err = newCron("cron_expression", expression.CronExpression, "cron_expression", "") //nolint:staticcheck // older clients send it
	default:
		err = wrong("expression", "a rate or a cron expression is required")
	}
	return Schedule{t}, err
}

// Next returns the first slot after a time. It returns false when there is none within some years.
func (s Schedule) Next(after time.Time) (time.Time, bool) { return s.next(after.UTC()) }

// Words describes the schedule to people.
func (s Schedule) Words() string { return s.words() }

// Between returns the slots from a time, which is included, until another, which is not: at most limit, oldest first.
func (s Schedule) Between(from, until time.Time, limit int) []time.Time {
	var slots []time.Time
	at := from.Add(-time.Nanosecond)
	for len(slots) < limit {
		next, ok := s.Next(at)
		if !ok || !next.Before(until) {
			break
		}
		slots = append(slots, next)
		at = next
	}
	return slots
}

// Latest returns the newest slots from a time until another, both included: at most limit, oldest first. first is the
// oldest slot of the whole range, which is not among them if there are more than limit.
func (s Schedule) Latest(from, until time.Time, limit int) (slots []time.Time, first time.Time) {
	until = until.Add(time.Nanosecond)
	oldest := s.Between(from, until, 1)
	if len(oldest) == 0 {
		return nil, time.Time{}
	}
	first = oldest[0]
	// Looking back in steps that double costs as much as the result, however long the range is.
	for window := time.Hour; ; window *= 2 {
		begin := until.Add(-window)
		if begin.Before(from) || window > math.MaxInt64/4 {
			begin = from
		}
		slots = s.Between(begin, until, math.MaxInt)
		if len(slots) >= limit || begin.Equal(from) {
			return slots[max(0, len(slots)-limit):], first
		}
	}
}

// rate has slots at equal distances from a start.
type rate struct {
	start  time.Time
	period time.Duration
	first  bool // the start itself is a slot
}

var units = map[task.FixedRateUnit]struct {
	length time.Duration
	name   string
}{
	task.FixedRateUnit_FIXED_RATE_UNIT_MINUTE: {time.Minute, "minute"},
	task.FixedRateUnit_FIXED_RATE_UNIT_HOUR:   {time.Hour, "hour"},
	task.FixedRateUnit_FIXED_RATE_UNIT_DAY:    {24 * time.Hour, "day"},
}

func newRate(spec *task.FixedRate, anchor time.Time) (*rate, error) {
	unit, ok := units[spec.GetUnit()]
	switch {
	case !ok:
		return nil, wrong("rate.unit", "%d is not a known unit", spec.GetUnit())
	case spec.GetValue() == 0:
		return nil, wrong("rate.value", "must be at least 1")
	case int64(spec.GetValue()) > int64(Horizon/unit.length):
		return nil, wrong("rate.value", "must be at most %d %ss, which are five years", int64(Horizon/unit.length), unit.name)
	}
	r := &rate{start: anchor.UTC().Truncate(time.Second), period: time.Duration(spec.GetValue()) * unit.length}
	if start := spec.GetStartTime(); start != nil {
		if err := start.CheckValid(); err != nil {
			return nil, wrong("rate.start_time", "is not a valid timestamp")
		}
		r.start, r.first = start.AsTime().Truncate(time.Microsecond), true
		if y := r.start.Year(); y < 1900 || y > 2200 {
			return nil, wrong("rate.start_time", "must be between the years 1900 and 2200")
		}
	}
	return r, nil
}

func (r *rate) next(after time.Time) (time.Time, bool) {
	if after.Before(r.start) {
		if r.first {
			return r.start, true
		}
		return r.start.Add(r.period), true
	}
	// Within the years that are allowed, a difference fits a Duration.
	past := after.Sub(r.start)
	return r.start.Add(past - past%r.period + r.period), true
}

func (r *rate) words() string {
	for _, kind := range []task.FixedRateUnit{
		task.FixedRateUnit_FIXED_RATE_UNIT_DAY, task.FixedRateUnit_FIXED_RATE_UNIT_HOUR, task.FixedRateUnit_FIXED_RATE_UNIT_MINUTE,
	} {
		unit := units[kind]
		if r.period%unit.length != 0 {
			continue
		}
		text := "every " + unit.name
		if n := r.period / unit.length; n > 1 {
			text = fmt.Sprintf("every %d %ss", n, unit.name)
		}
		return text + ", counted from " + r.start.Format("2006-01-02 15:04:05 MST")
	}
	return "every " + r.period.String()
}
