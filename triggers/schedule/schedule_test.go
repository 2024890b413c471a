package schedule_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/triggers/schedule"
)

func cron(expression, zone string) *task.Schedule {
	return &task.Schedule{Expression: &task.Schedule_Cron{Cron: &task.Cron{Expression: expression, Timezone: zone}}}
}

func rate(n uint32, unit task.FixedRateUnit, start *time.Time) *task.Schedule {
	r := &task.FixedRate{Value: n, Unit: unit}
	if start != nil {
		r.StartTime = timestamppb.New(*start)
	}
	return &task.Schedule{Expression: &task.Schedule_Rate{Rate: r}}
}

func at(t require.TestingT, text string) time.Time {
	parsed, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return parsed
}

func TestNext(t *testing.T) {
	start := at(t, "2026-03-01T12:00:30Z")
	const minute, hour, day = task.FixedRateUnit_FIXED_RATE_UNIT_MINUTE, task.FixedRateUnit_FIXED_RATE_UNIT_HOUR, task.FixedRateUnit_FIXED_RATE_UNIT_DAY
	for name, tc := range map[string]struct {
		spec  *task.Schedule
		after string
		want  []string
	}{
		"every minute":      {cron("* * * * *", ""), "2026-01-01T00:00:00Z", []string{"2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z"}},
		"daily in a zone":   {cron("30 9 * * *", "Asia/Tokyo"), "2026-01-01T00:30:00Z", []string{"2026-01-02T00:30:00Z"}},
		"descriptor":        {cron("@daily", "Europe/Berlin"), "2026-07-01T00:00:00Z", []string{"2026-07-01T22:00:00Z"}},
		"leap day":          {cron("0 0 29 2 *", ""), "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		"half hour zone":    {cron("0 * * * *", "Asia/Kolkata"), "2026-01-01T00:00:00Z", []string{"2026-01-01T00:30:00Z"}},
		"skipped time":      {cron("30 2 * * *", "Europe/Berlin"), "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
		"skipped times":     {cron("*/15 2 * * *", "Europe/Berlin"), "2026-03-29T00:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"}},
		"gap and after":     {cron("30 2,3 * * *", "Europe/Berlin"), "2026-03-29T00:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"}},
		"doubled time":      {cron("30 2 * * *", "Europe/Berlin"), "2026-10-24T12:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		"hourly over a gap": {cron("0 * * * *", "Europe/Berlin"), "2026-03-28T23:30:00Z", []string{"2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"}},
		"hourly, doubled":   {cron("0 * * * *", "Europe/Berlin"), "2026-10-24T23:30:00Z", []string{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"}},
		"no midnight":       {cron("0 0 * * *", "Africa/Cairo"), "2026-04-23T12:00:00Z", []string{"2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"}},
		"no day at all":     {cron("0 12 * * *", "Pacific/Apia"), "2011-12-29T00:00:00Z", []string{"2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"}},
		"rate":              {rate(90, minute, nil), "2026-01-01T00:00:00Z", []string{"2026-01-01T01:30:00Z", "2026-01-01T03:00:00Z"}},
		"rate with a start": {rate(2, hour, &start), "2026-01-01T00:00:00Z", []string{"2026-03-01T12:00:30Z", "2026-03-01T14:00:30Z"}},
		"start in the past": {rate(1, day, &start), "2026-03-05T12:00:30Z", []string{"2026-03-06T12:00:30Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			after := at(t, tc.after)
			s, err := schedule.New(tc.spec, at(t, "2026-01-01T00:00:00.7Z"), after)
			require.NoError(t, err)
			for _, want := range tc.want {
				next, ok := s.Next(after)
				require.True(t, ok)
				require.Equal(t, want, next.Format(time.RFC3339))
				after = next
			}
		})
	}
}

func TestInvalidSchedules(t *testing.T) {
	now := at(t, "2026-01-01T00:00:00Z")
	far := at(t, "2100-01-01T00:00:00Z")
	for name, tc := range map[string]struct {
		spec          *task.Schedule
		field, saying string
	}{
		"nothing":         {&task.Schedule{}, "expression", "required"},
		"no expression":   {cron("", ""), "cron.expression", "required"},
		"nonsense":        {cron("a b c d e", ""), "cron.expression", "not a valid cron expression"},
		"six fields":      {cron("0 0 12 * * ?", ""), "cron.expression", "five fields"},
		"out of range":    {cron("61 * * * *", ""), "cron.expression", "not a valid cron expression"},
		"never":           {cron("0 0 30 2 *", ""), "cron.expression", "never fires"},
		"zone inside":     {cron("CRON_TZ=Asia/Tokyo 0 0 * * *", ""), "cron.expression", "time zone"},
		"zone alone":      {cron("TZ=", ""), "cron.expression", "time zone"},
		"every":           {cron("@every 1m", ""), "cron.expression", "fixed rate"},
		"long":            {cron(string(make([]byte, 300)), ""), "cron.expression", "255"},
		"unknown zone":    {cron("0 0 * * *", "Mars/Olympus"), "cron.timezone", "not a known time zone"},
		"zone of machine": {cron("0 0 * * *", "Local"), "cron.timezone", "not a known time zone"},
		"zone by a path":  {cron("0 0 * * *", "../etc/passwd"), "cron.timezone", "not a known time zone"},
		"older field":     {&task.Schedule{Expression: &task.Schedule_CronExpression{CronExpression: "0 0 31 2 *"}}, "cron_expression", "never"},
		"rate of zero":    {rate(0, task.FixedRateUnit_FIXED_RATE_UNIT_MINUTE, nil), "rate.value", "at least 1"},
		"no unit":         {rate(1, 0, nil), "rate.unit", "not a known unit"},
		"huge rate":       {rate(1<<31, task.FixedRateUnit_FIXED_RATE_UNIT_DAY, nil), "rate.value", "five years"},
		"late start":      {rate(1, task.FixedRateUnit_FIXED_RATE_UNIT_DAY, &far), "rate", "never fires"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := schedule.New(tc.spec, now, now)
			var wrong *schedule.Error
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, tc.field, wrong.Field)
			require.Contains(t, wrong.Problem, tc.saying)
		})
	}
}

func TestLatest(t *testing.T) {
	from, until := at(t, "2020-01-01T00:00:00Z"), at(t, "2026-01-01T00:00:00Z")
	s, err := schedule.Parse(cron("* * * * *", ""), from)
	require.NoError(t, err)
	slots, first := s.Latest(from, until, 3)
	require.Equal(t, from, first)
	require.Equal(t, []time.Time{until.Add(-2 * time.Minute), until.Add(-time.Minute), until}, slots)
	slots, _ = s.Latest(until, until, 3)
	require.Equal(t, []time.Time{until}, slots)
	slots, _ = s.Latest(until.Add(time.Second), until.Add(2*time.Second), 3)
	require.Empty(t, slots)
}

var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Sao_Paulo", "Asia/Kolkata", "Africa/Casablanca", "Asia/Beirut", "America/St_Johns"}

// drawn is a schedule in a zone and a time near one of the zone's changes.
func drawn(t *rapid.T, hours string) (schedule.Schedule, *time.Location, time.Time) {
	name := rapid.SampledFrom(zones).Draw(t, "zone")
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	minute := rapid.SampledFrom([]string{"0", "30", "*/15", "7,53", "*"}).Draw(t, "minute")
	days := rapid.SampledFrom([]string{"* * *", "* * 0", "1-10 * *"}).Draw(t, "days")
	s, err := schedule.Parse(cron(minute+" "+hours+" "+days, name), time.Time{})
	require.NoError(t, err)
	near := time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.Int64Range(0, 12*365*24*60).Draw(t, "minutes")) * time.Minute)
	if _, end := near.In(zone).ZoneBounds(); !end.IsZero() && rapid.Bool().Draw(t, "change") {
		near = end.Add(time.Duration(rapid.IntRange(-300, 300).Draw(t, "around")) * time.Minute).UTC()
	}
	return s, zone, near
}

// Slots grow, and Next from anywhere between two slots is the later one: no restart loses or repeats any.
func TestSlotsDoNotDependOnWhereTheSearchBegins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _, near := drawn(t, rapid.SampledFrom([]string{"*", "*/2", "2", "0-5", "1,2,3", "0"}).Draw(t, "hours"))
		first, ok := s.Next(near)
		require.True(t, ok)
		require.True(t, first.After(near))
		second, ok := s.Next(first)
		require.True(t, ok)
		require.True(t, second.After(first))
		between := first.Add(time.Duration(rapid.Int64Range(0, int64(second.Sub(first))-1).Draw(t, "between")))
		again, _ := s.Next(between)
		require.Equal(t, second, again)
	})
}

// Without named hours, slots are exactly the minutes whose wall clock matches.
func TestEveryHourFollowsRealTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minute := rapid.SampledFrom([]int{0, 15, 30, 59}).Draw(t, "minute")
		name := rapid.SampledFrom(zones).Draw(t, "zone")
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		s, err := schedule.Parse(cron([]string{15: "15", 0: "0", 30: "30", 59: "59"}[minute]+" * * * *", name), time.Time{})
		require.NoError(t, err)
		_, _, near := drawn(t, "*")
		got, _ := s.Next(near)
		want := near.Truncate(time.Minute).Add(time.Minute)
		for want.In(zone).Minute() != minute {
			want = want.Add(time.Minute)
		}
		require.Equal(t, want, got)
	})
}

// With named hours, every day has each named time once: where the clock shows it first, or right after the gap.
func TestNamedHoursFireOnceADay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hour := rapid.IntRange(0, 23).Draw(t, "hour")
		name := rapid.SampledFrom(zones).Draw(t, "zone")
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		s, err := schedule.Parse(cron("30 "+string(rune('0'+hour/10))+string(rune('0'+hour%10))+" * * *", name), time.Time{})
		require.NoError(t, err)
		_, _, near := drawn(t, "*")
		last, _ := s.Next(near)
		for range 3 {
			next, _ := s.Next(last)
			gap := next.Sub(last)
			require.True(t, gap >= 22*time.Hour && gap <= 26*time.Hour, "%s after %s", next, last)
			local := next.In(zone)
			if local.Hour() != hour || local.Minute() != 30 {
				start, _ := local.ZoneBounds()
				require.True(t, start.Equal(next), "%s is not the end of a gap", local)
			}
			require.NotEqual(t, local.Format("02 15:04"), next.Add(-time.Hour).In(zone).Format("02 15:04"), "the first of two")
			last = next
		}
	})
}

func FuzzCron(f *testing.F) {
	f.Add("*/5 1-3 * JAN MON", "Europe/Berlin")
	f.Add("TZ=x", "UTC")
	f.Add("@every -1s", "")
	f.Fuzz(func(t *testing.T, expression, zone string) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		s, err := schedule.New(cron(expression, zone), now, now)
		if err != nil {
			return
		}
		next, ok := s.Next(now)
		if !ok || !next.After(now) {
			t.Fatalf("%q in %q after %s: %s", expression, zone, now, next)
		}
	})
}
