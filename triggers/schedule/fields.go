package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	cronlib "github.com/robfig/cron/v3"
)

// bounds are the numbers that a field of a cron expression may have.
type bounds struct {
	name     string
	min, max int
	// names are names for numbers, in lower case.
	names map[string]int
	// wraps is one more number that means min, so that a range may end with it; 0 if there is none.
	wraps int
}

var fieldBounds = [5]bounds{
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day of month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: map[string]int{
		"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
	}},
	{name: "day of week", max: 6, wraps: 7, names: map[string]int{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}},
}

// starBit marks a field that restricts nothing. With such a field among day of month and day of week, the other one decides;
// otherwise a day matches if either field does.
const starBit = 1 << 63

// parseFields reads the five fields of an expression. doubt is why a new trigger must not have the expression although it can
// be computed: it means something else than it seems to. Triggers from before the check keep firing as they did.
func parseFields(fields []string) (schedule *cronlib.SpecSchedule, doubt, err error) {
	var bits [5]uint64
	for i, field := range fields {
		b := &fieldBounds[i]
		for part := range strings.SplitSeq(field, ",") {
			if part == "" {
				doubt = fmt.Errorf("%s: %q has an empty entry", b.name, field)
				continue
			}
			found, odd, err := b.parse(part)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", b.name, err)
			}
			if odd != nil {
				doubt = fmt.Errorf("%s: %w", b.name, odd)
			}
			bits[i] |= found
		}
	}
	return &cronlib.SpecSchedule{
		Second: 1, Minute: bits[0], Hour: bits[1], Dom: bits[2], Month: bits[3], Dow: bits[4], Location: time.UTC,
	}, doubt, nil
}

// parse reads one entry of a field: *, N, N-M, or one of these with /STEP.
func (b *bounds) parse(entry string) (bits uint64, doubt, err error) {
	span, stepText, stepped := strings.Cut(entry, "/")
	low, high, ranged := strings.Cut(span, "-")
	first, last := b.min, b.max
	everything := low == "*" || low == "?"
	switch {
	case everything && ranged:
		doubt = fmt.Errorf("%q is not a range; write %s or a range of numbers", span, low)
	case !everything:
		if first, err = b.number(low); err != nil {
			return 0, nil, err
		}
		switch {
		case ranged:
			if last, err = b.number(high); err != nil {
				return 0, nil, err
			}
			if b.wraps > 0 && strings.EqualFold(high, "sun") && first > last {
				last = b.wraps
			}
		case !stepped:
			last = first
		}
	}
	if b.wraps > 0 && first == b.wraps && last != b.wraps {
		first = b.min
	}
	if first > last {
		return 0, nil, fmt.Errorf("the range %s goes backwards; write two ranges: %d-%d,%d-%d", span, first, b.max, b.min, last)
	}
	step := 1
	if stepped {
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
			return 0, nil, fmt.Errorf("the step %q of %q is not a positive number", stepText, entry)
		}
	}
	if step > 1 && step > last-first {
		doubt = fmt.Errorf("the step of %s is larger than what it steps through, %d to %d, so that only %d is left%s", entry, first, last, first, b.instead(step))
	}
	for n := first; n <= last; n += step {
		if n == b.wraps && b.wraps > 0 {
			bits |= 1 << b.min
			continue
		}
		bits |= 1 << n
	}
	if everything && step == 1 {
		bits |= starBit
	}
	return bits, doubt, nil
}

// number reads a number or a name of the field.
func (b *bounds) number(text string) (int, error) {
	if n, ok := b.names[strings.ToLower(text)]; ok {
		return n, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case strings.ContainsAny(strings.ToUpper(text), "LW#") && err != nil && len(text) < 4:
		return 0, fmt.Errorf("%q is not supported: L, W and # have no meaning here", text)
	case err != nil && b.names != nil:
		return 0, fmt.Errorf("%q is neither a number nor a name of three letters", text)
	case err != nil:
		return 0, fmt.Errorf("%q is not a number", text)
	case n < b.min || n > max(b.max, b.wraps):
		return 0, fmt.Errorf("%d is out of range; it has %d to %d", n, b.min, max(b.max, b.wraps))
	}
	return n, nil
}

// instead says what people probably want who write a step that is too large.
func (b *bounds) instead(step int) string {
	switch b.name {
	case "minute", "hour":
		return fmt.Sprintf("; for every %d %ss use a fixed rate", step, b.name)
	default:
		return ""
	}
}
