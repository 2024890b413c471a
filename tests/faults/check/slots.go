package check

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Trigger is a trigger of the storm with a schedule of equal distances.
type Trigger struct {
	Name string
	// Start is one of its slots and Period the time between two.
	Start  time.Time
	Period time.Duration
	Policy
	// Slots after From up to Until must have fired, and none after Latest, which is the latest time that the clock showed.
	From, Until, Latest time.Time
	// Slots from BackfillFrom until before BackfillUntil were asked for, too.
	BackfillFrom, BackfillUntil time.Time
	Fires                       []Fire
}

// Policy is what the options of a trigger say.
type Policy struct {
	// CatchUp is how many missed slots fire at once at most; then the oldest of the missed ones says that the others do not.
	CatchUp int
	// Late is how late a slot may fire; later it is left out, with those before it. 0 means that slots fire however late.
	Late time.Duration
	// Jitter is the bound of the delay of a slot.
	Jitter time.Duration
	// Alone means that no two runs of slots are unfinished at the same time: a slot whose predecessor is unfinished is left
	// out or, if Replaces is set, aborts it.
	Alone, Replaces bool
}

// Fire is a slot that was picked up.
type Fire struct {
	Slot       time.Time
	RecordedAt time.Time
	State      int16
	Run        string
	Reason     string
}

// The states of slots.
const (
	SlotStarted = 2
	SlotSkipped = 4
)

// slotsFireOnce: each slot of a trigger has one run, which begins at that slot, unless the policy for missed slots leaves it
// out; and every run of a trigger is that of a slot.
func slotsFireOnce(e *Evidence, f *findings) {
	fires := map[string]map[string]Fire{} // by trigger and run
	for i := range e.Triggers {
		t := &e.Triggers[i]
		slices.SortFunc(t.Fires, func(a, b Fire) int { return a.Slot.Compare(b.Slot) })
		fires[t.Name] = map[string]Fire{}
		for n, fire := range t.Fires {
			t.judge(e, n, f)
			if _, twice := fires[t.Name][fire.Run]; twice && fire.Run != "" {
				f.add("trigger %s: two slots have the run %s", t.Name, fire.Run)
			}
			fires[t.Name][fire.Run] = fire
		}
		t.gaps(f)
		t.alone(e, f)
	}
	slots := map[string]string{}
	for i := range e.Runs {
		run := &e.Runs[i]
		if run.Trigger == "" {
			continue
		}
		fire, ok := fires[run.Trigger][run.Name]
		switch {
		case !ok:
			f.add("run %s of trigger %s has no slot", run.Name, run.Trigger)
		case !fire.Slot.Equal(run.Slot):
			f.add("run %s of trigger %s begins at %s; its slot is %s", run.Name, run.Trigger, at(run.Slot), at(fire.Slot))
		}
		slot := run.Trigger + " " + at(run.Slot)
		if other, twice := slots[slot]; twice {
			f.add("the slot %s has two runs, %s and %s", slot, cmp.Or(other, "?"), run.Name)
		}
		slots[slot] = run.Name
	}
}

// judge judges the nth slot that was picked up.
func (t *Trigger) judge(e *Evidence, n int, f *findings) {
	fire := t.Fires[n]
	scheduled := fire.Slot.After(t.From) && !fire.Slot.After(t.Latest)
	switch {
	case fire.Slot.Sub(t.Start)%t.Period != 0:
		f.add("trigger %s fired at %s, which its schedule does not have", t.Name, at(fire.Slot))
	case !scheduled && !t.backfilled(fire.Slot):
		f.add("trigger %s fired at %s; it was active from %s and the clock showed at most %s", t.Name, at(fire.Slot), at(t.From), at(t.Latest))
	}
	late := fire.RecordedAt.Sub(fire.Slot)
	if late < 0 {
		f.add("the slot %s of trigger %s fired %s too early", at(fire.Slot), t.Name, -late)
	}
	missed := t.Late > 0 && late > t.Late+t.Jitter && !t.backfilled(fire.Slot)
	switch {
	case fire.State == SlotStarted:
		if missed {
			f.add("the slot %s of trigger %s was %s late and should be left out", at(fire.Slot), t.Name, late)
		}
		if !slices.ContainsFunc(e.Runs, func(r Run) bool { return r.Name == fire.Run && r.row("a0") != nil }) {
			f.add("the slot %s of trigger %s has no run; it should be %s", at(fire.Slot), t.Name, fire.Run)
		}
	case fire.State == SlotSkipped && fire.Run != "":
		if !t.Alone || t.Replaces || !slices.ContainsFunc(t.Fires[:n], func(earlier Fire) bool {
			return earlier.State == SlotStarted && strings.Contains(fire.Reason, earlier.Run)
		}) {
			f.add("the slot %s of trigger %s was left out for no earlier run: %s", at(fire.Slot), t.Name, fire.Reason)
		}
		if slices.ContainsFunc(e.Runs, func(r Run) bool { return r.Name == fire.Run && r.row("a0") != nil }) {
			f.add("the slot %s of trigger %s was left out and has the run %s", at(fire.Slot), t.Name, fire.Run)
		}
	case fire.State == SlotSkipped && !missed:
		together := 0
		for _, later := range t.Fires[n+1:] {
			if t.backfilled(later.Slot) {
				continue
			}
			if later.missed() || !later.RecordedAt.Equal(fire.RecordedAt) {
				break
			}
			together++
		}
		if together < t.CatchUp || t.backfilled(fire.Slot) {
			f.add("the slot %s of trigger %s was left out, and only %d of its later ones run: %s", at(fire.Slot), t.Name, together, fire.Reason)
		}
	case fire.State == SlotSkipped: // it was too late
	default:
		f.add("the slot %s of trigger %s is in state %d: %s", at(fire.Slot), t.Name, fire.State, fire.Reason)
	}
}

// missed reports whether the slot was left out because it was late, and others alongside it.
func (f Fire) missed() bool { return f.State == SlotSkipped && f.Run == "" }

// alone finds runs that began before an earlier one had ended, and replaced runs that nothing replaced. It compares
// transactions, since clocks step.
func (t *Trigger) alone(e *Evidence, f *findings) {
	if !t.Alone {
		return
	}
	var last *Run
	for _, fire := range t.Fires {
		at := slices.IndexFunc(e.Runs, func(r Run) bool { return r.Name == fire.Run && r.Trigger == t.Name })
		if fire.State != SlotStarted || t.backfilled(fire.Slot) || at < 0 {
			continue
		}
		next := &e.Runs[at]
		if last != nil && (last.Died == 0 || last.Died > next.Born) {
			f.add("trigger %s: the run %s was unfinished when %s began", t.Name, last.Name, next.Name)
		}
		last = next
	}
	if last != nil && len(last.Aborts) > 0 {
		f.add("trigger %s: nothing has replaced the run %s, which was aborted", t.Name, last.Name)
	}
}

// gaps finds the slots that were not picked up at all. Those behind one that was left out may be, and those before one that
// was left out because it was late.
func (t *Trigger) gaps(f *findings) {
	for slot := t.after(t.From); !slot.After(t.Until.Add(-t.Jitter)); slot = slot.Add(t.Period) {
		i, found := slices.BinarySearchFunc(t.Fires, slot, func(fire Fire, slot time.Time) int { return fire.Slot.Compare(slot) })
		earlier := i - 1
		for earlier >= 0 && t.backfilled(t.Fires[earlier].Slot) {
			earlier--
		}
		behind := earlier >= 0 && t.Fires[earlier].missed()
		before := t.Late > 0 && i < len(t.Fires) && t.Fires[i].missed()
		if !found && !behind && !before {
			f.add("trigger %s never fired for %s", t.Name, at(slot))
		}
	}
	for slot := t.after(t.BackfillFrom.Add(-1)); slot.Before(t.BackfillUntil); slot = slot.Add(t.Period) {
		if !slices.ContainsFunc(t.Fires, func(fire Fire) bool { return fire.Slot.Equal(slot) }) {
			f.add("trigger %s never fired for %s, which was asked for later", t.Name, at(slot))
		}
	}
}

func (t *Trigger) backfilled(slot time.Time) bool {
	return !slot.Before(t.BackfillFrom) && slot.Before(t.BackfillUntil)
}

// after is the first slot after a time.
func (t *Trigger) after(from time.Time) time.Time {
	past := from.Sub(t.Start) % t.Period
	if past < 0 {
		past += t.Period
	}
	return from.Add(t.Period - past)
}

func at(moment time.Time) string { return moment.UTC().Format("15:04:05.999999") }
