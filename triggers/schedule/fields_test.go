package schedule_test

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cronlib "github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"
	"github.com/flyte-binary/flyte-binary/triggers/schedule"
)

// deploy checks an expression as a deployment does.
func deploy(t *testing.T, expression, zone string) error {
	t.Helper()
	now := at(t, "2026-01-01T00:00:00Z")
	_, err := schedule.New(cron(expression, zone), now, now)
	return err
}

func TestExpressionsThatMeanSomethingElseAreRefused(t *testing.T) {
	for expression, words := range map[string]string{
		"*/90 * * * *":     "minute: the step of */90 is larger than what it steps through, 0 to 59, so that only 0 is left; for every 90 minutes use a fixed rate",
		"*/60 * * * *":     "minute: the step",
		"0 */24 * * *":     "hour: the step of */24 is larger than what it steps through, 0 to 23, so that only 0 is left; for every 24 hours",
		"0 0 */31 * *":     "day of month: the step",
		"0 0 1 */12 *":     "month: the step",
		"0 0 * * */7":      "day of week: the step",
		"10-20/15 * * * *": "10 to 20, so that only 10 is left",
		"50/10 * * * *":    "50 to 59",
		"*/0 * * * *":      `minute: the step "0" of "*/0" is not a positive number`,
		"*/-5 * * * *":     "is not a positive number",
		"*/x * * * *":      "is not a positive number",
		"*/5/2 * * * *":    "is not a positive number",
		"*-5 * * * *":      `"*-5" is not a range`,
		"1,,2 * * * *":     "has an empty entry",
		", * * * *":        "has an empty entry",
		"0 22-2 * * *":     "hour: the range 22-2 goes backwards; write two ranges: 22-23,0-2",
		"0 0 * * 5-1":      "day of week: the range 5-1 goes backwards",
		"0 0 * nov-feb *":  "month: the range nov-feb goes backwards; write two ranges: 11-12,1-2",
		"0 0 * * 8":        "day of week: 8 is out of range; it has 0 to 7",
		"60 * * * *":       "minute: 60 is out of range; it has 0 to 59",
		"0 0 0 * *":        "day of month: 0 is out of range; it has 1 to 31",
		"0 0 * 13 *":       "month: 13 is out of range",
		"-1 * * * *":       `minute: "" is not a number`,
		"0 0 L * *":        `day of month: "L" is not supported`,
		"0 0 15W * *":      `day of month: "15W" is not supported`,
		"0 0 * * 5#2":      `day of week: "5#2" is not supported`,
		"0 0 * * monday":   `day of week: "monday" is neither a number nor a name of three letters`,
		"0 0 1 january *":  `month: "january" is neither`,
		"mon * * * *":      `minute: "mon" is not a number`,
		"@reboot":          "the descriptors are @yearly",
		"@every5m":         "fixed rate",
		"@":                "the descriptors are",
	} {
		err := deploy(t, expression, "")
		var wrong *schedule.Error
		require.ErrorAs(t, err, &wrong, expression)
		require.Equal(t, "cron.expression", wrong.Field, expression)
		require.Contains(t, wrong.Problem, words, expression)
	}
	for _, expression := range []string{
		"*/59 * * * *", "*/30 * * * *", "0 */23 * * *", "10-20/10 * * * *", "5-5/1 * * * *", "*/1 * * * *", "0 0 ? * MON-FRI", "0 0 1 JAN,Jul ?",
	} {
		require.NoError(t, deploy(t, expression, ""), expression)
	}
}

func TestTheSeventhDayIsSunday(t *testing.T) {
	sunday := at(t, "2026-01-04T00:00:00Z")
	for expression, want := range map[string]string{
		"0 0 * * 7": "0", "0 0 * * 5-7": "5,6,0", "0 0 * * fri-sun": "5,6,0", "0 0 * * 0-7": "0-6", "0 0 * * 7-2": "0-2", "0 0 * * 7/2": "0,2,4,6",
		"0 0 * * 1,7": "0,1", "0 0 * * 7-7": "0", "0 0 * * SUN": "0", "0 0 * * 0": "0", "0 0 13 * 7": "0", "0 0 * * sun-tue": "0-2",
	} {
		s, err := schedule.New(cron(expression, ""), sunday, sunday)
		require.NoError(t, err, expression)
		crontab := strings.TrimSuffix(expression, strings.Fields(expression)[4]) + want
		same, err := cronlib.ParseStandard(crontab)
		require.NoError(t, err)
		after := sunday.Add(-time.Hour)
		for range 20 {
			next, ok := s.Next(after)
			require.True(t, ok)
			require.Equal(t, same.Next(after), next, expression)
			after = next
		}
	}
}

// Whatever else is accepted means what it always meant, and triggers that were deployed before keep their slots.
func TestFieldsMeanWhatTheyAlwaysMeant(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		entry := func(low, high int) *rapid.Generator[string] {
			return rapid.Custom(func(t *rapid.T) string {
				number := func(low int) string {
					return string([]byte{byte('0' + low/10), byte('0' + low%10)})
				}
				from := rapid.IntRange(low, high).Draw(t, "from")
				text := rapid.SampledFrom([]string{
					"*", "?", number(from), number(from) + "-" + number(rapid.IntRange(from, high).Draw(t, "until")),
				}).Draw(t, "span")
				if rapid.Bool().Draw(t, "stepped") {
					text += "/" + number(rapid.IntRange(1, 99).Draw(t, "step"))
				}
				return text
			})
		}
		var fields []string
		for _, span := range [][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}} {
			fields = append(fields, strings.Join(rapid.SliceOfN(entry(span[0], span[1]), 1, 3).Draw(t, "field"), ","))
		}
		expression := strings.Join(fields, " ")
		old, err := cronlib.ParseStandard(expression)
		require.NoError(t, err)
		s, err := schedule.Parse(cron(expression, ""), time.Time{})
		require.NoError(t, err, expression)
		after := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for range 5 {
			next, ok := s.Next(after)
			want := old.Next(after)
			require.Equal(t, !want.IsZero(), ok, expression)
			if !ok {
				break
			}
			require.Equal(t, want, next, expression)
			after = next
		}
	})
}

func TestZonesThatAreFilesOfTheMachineAreRefused(t *testing.T) {
	for _, zone := range []string{
		"localtime", "posixrules", "Factory", "posix/Europe/Berlin", "right/Europe/Berlin", "Local", "local", "europe/berlin", "Europe/", "Europe",
		"Etc/../Europe/Berlin", "./UTC", "/usr/share/zoneinfo/UTC", "utc", "zone.tab", "tzdata.zi", " UTC", "CEST", "UTC+2", "Europe/Berlin ",
	} {
		err := deploy(t, "0 9 * * *", zone)
		var wrong *schedule.Error
		require.ErrorAs(t, err, &wrong, zone)
		require.Equal(t, "cron.timezone", wrong.Field, zone)
		require.Contains(t, wrong.Problem, "is not a known time zone", zone)
		require.Contains(t, wrong.Problem, "Europe/Berlin", zone)
	}
	for _, zone := range []string{"", "UTC", "Etc/UTC", "Europe/Kyiv", "US/Pacific", "Etc/GMT+5", "America/Argentina/Buenos_Aires", "EST5EDT", "GMT", "CET"} {
		require.NoError(t, deploy(t, "0 9 * * *", zone), zone)
	}
}

// A trigger from before the check was deployed in words that the server accepted: it keeps firing.
func TestDeployedTriggersOutliveNewChecks(t *testing.T) {
	after := at(t, "2026-01-01T00:30:00Z")
	s, err := schedule.Parse(cron("*/90 * * * *", ""), after)
	require.NoError(t, err)
	next, ok := s.Next(after)
	require.True(t, ok)
	require.Equal(t, at(t, "2026-01-01T01:00:00Z"), next)
	if _, err := time.LoadLocation("posix/Europe/Berlin"); err != nil {
		t.Skip("this machine has no such file")
	}
	_, err = schedule.Parse(cron("0 9 * * *", "posix/Europe/Berlin"), after)
	require.NoError(t, err)
}

// The names are those of the database that Go embeds. After an upgrade of Go, write its names to zones.txt.
func TestTheNamesOfZonesAreThoseOfTheEmbeddedDatabase(t *testing.T) {
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	require.NoError(t, err)
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	require.NoError(t, err)
	defer func() { require.NoError(t, archive.Close()) }()
	var names []string
	for _, file := range archive.File {
		if name := file.Name; !strings.HasSuffix(name, "/") && name != "Factory" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	known, err := os.ReadFile("zones.txt")
	require.NoError(t, err)
	require.Equal(t, names, strings.Fields(string(known)))
}
