package schedule

import (
	"errors"
	"strings"
	"time"

	cronlib "github.com/robfig/cron/v3"
)

// maxExpression is the length of a cron expression in bytes.
const maxExpression = 255

// descriptors are the names of expressions.
var descriptors = cronlib.NewParser(cronlib.Descriptor)

// cron has slots where the wall clock of a zone shows what the expression says.
type cron struct {
	expression string
	zone       *time.Location
	wall       cronlib.Schedule // computes with the wall clock written as a time in UTC
	// everyHour expressions do not name hours. They follow real time: no slot moves, and none is left out, when clocks
	// change. All others follow the wall clock.
	everyHour bool
	// doubt is why a new trigger must not have this schedule although it can be computed; nil for most.
	doubt error
}

func newCron(field, expression, zoneField, zone string) (*cron, error) {
	expression = strings.TrimSpace(expression)
	switch {
	case expression == "":
		return nil, wrong(field, "is required")
	case len(expression) > maxExpression:
		return nil, wrong(field, "must have at most %d bytes, has %d", maxExpression, len(expression))
	case strings.Contains(expression, "="):
		return nil, wrong(field, "must not name a time zone; use timezone")
	case strings.HasPrefix(expression, "@every"):
		return nil, wrong(field, "%q is not supported; use a fixed rate", expression)
	}
	fields := strings.Fields(expression)
	if !strings.HasPrefix(expression, "@") && len(fields) != 5 {
		return nil, wrong(field, "must have the five fields minute, hour, day of month, month and day of week; %q has %d", expression, len(fields))
	}
	c := &cron{expression: strings.Join(fields, " ")}
	if err := c.parse(fields); err != nil {
		return nil, wrong(field, "%q is not a valid cron expression: %s", expression, err)
	}
	if c.doubt != nil {
		c.doubt = wrong(field, "%q is not a valid cron expression: %s", expression, c.doubt)
	}
	c.everyHour = c.expression == "@hourly" || (len(fields) == 5 && (fields[1][0] == '*' || fields[1][0] == '?'))
	var known bool
	var err error
	// Local would be the zone of the machine, which clients do not know.
	if c.zone, known, err = loadZone(zone); err != nil || zone == "Local" {
		return nil, wrong(zoneField, "%q is not a known time zone; use a name such as Europe/Berlin", zone)
	}
	if !known {
		c.doubt = wrong(zoneField, "%q is not a known time zone: it is not in the IANA database, and other machines may take it for another zone; "+
			"use a name such as Europe/Berlin", zone)
	}
	return c, nil
}

// parse reads the fields, or the descriptor in their place.
func (c *cron) parse(fields []string) (err error) {
	if !strings.HasPrefix(fields[0], "@") {
		c.wall, c.doubt, err = parseFields(fields)
		return err
	}
	if c.wall, err = descriptors.Parse(c.expression); err != nil {
		return errors.New("the descriptors are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly")
	}
	return nil
}

func (c *cron) words() string { return "cron " + c.expression + " (" + c.zone.String() + ")" }

func (c *cron) next(after time.Time) (time.Time, bool) {
	if c.everyHour {
		return c.nextReal(after)
	}
	return c.nextWall(after)
}

// shown is what the wall clock shows at a time, written as a time in UTC.
func shown(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// nextReal looks for a slot between one change of the zone's offset and the next, where the wall clock is steady.
func (c *cron) nextReal(after time.Time) (time.Time, bool) {
	for limit := after.Add(Horizon); !after.After(limit); {
		_, offset := after.In(c.zone).Zone()
		_, end := after.In(c.zone).ZoneBounds()
		wall := c.wall.Next(shown(after, c.zone))
		if wall.IsZero() {
			return time.Time{}, false
		}
		at := wall.Add(-time.Duration(offset) * time.Second)
		if end.IsZero() || at.Before(end) {
			return at, true
		}
		// The first moment of the next offset may itself be a slot.
		if wall := shown(end, c.zone); c.wall.Next(wall.Add(-time.Second)).Equal(wall) {
			return end.UTC(), true
		}
		after = end
	}
	return time.Time{}, false
}

// nextWall follows the wall clock: each time that the expression names is one slot. One that clocks skip is the moment
// after the gap, one that they show twice is the first of the two.
func (c *cron) nextWall(after time.Time) (time.Time, bool) {
	for wall := shown(after, c.zone); ; {
		if wall = c.wall.Next(wall); wall.IsZero() {
			return time.Time{}, false
		}
		if at := c.moment(wall); at.After(after) {
			return at, true
		}
	}
}

// moment is the first time at which the wall clock shows the given time; if it never does, the end of the gap.
func (c *cron) moment(wall time.Time) time.Time {
	const day = 24 * time.Hour // no offset changes by more, and no zone has two changes within two days
	_, before := wall.Add(-day).In(c.zone).Zone()
	_, later := wall.Add(day).In(c.zone).Zone()
	early := wall.Add(-time.Duration(max(before, later)) * time.Second)
	late := wall.Add(-time.Duration(min(before, later)) * time.Second)
	for _, at := range []time.Time{early, late} {
		if shown(at, c.zone).Equal(wall) {
			return at
		}
	}
	// With the offset of before, the time lies after the change.
	start, _ := wall.Add(-time.Duration(before) * time.Second).In(c.zone).ZoneBounds()
	return start.UTC()
}
