package layers

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// setScalar sets a text, truth value, number or duration. It returns what is wrong with the text and what to write instead; "" if
// nothing is.
func setScalar(target reflect.Value, text string, secret bool) string {
	shown := strconv.Quote(text)
	if secret {
		shown = "the value"
	}
	if isDuration(target.Type()) {
		duration, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Sprintf("%s is not a duration; write %s", shown, durationFor(text))
		}
		target.SetInt(int64(duration))
		return ""
	}
	switch target.Kind() {
	case reflect.String:
		target.SetString(text)
	case reflect.Bool:
		truth, known := truths(strings.ToLower(text))
		if !known {
			return shown + " is not true or false; write true or false"
		}
		target.SetBool(truth)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		number, ok := whole(text)
		if !ok {
			return fmt.Sprintf("%s is not a whole number; write %s", shown, numberFor(text))
		}
		if target.OverflowInt(number) {
			return fmt.Sprintf("%s is out of range; write at most %d", shown, int64(1)<<(target.Type().Bits()-1)-1)
		}
		target.SetInt(number)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		number, ok := whole(text)
		if !ok || number < 0 {
			return fmt.Sprintf("%s is not a whole number from 0; write %s", shown, numberFor(text))
		}
		if target.OverflowUint(uint64(number)) {
			return fmt.Sprintf("%s is out of range; write at most %d", shown, uint64(1)<<target.Type().Bits()-1)
		}
		target.SetUint(uint64(number))
	case reflect.Float32, reflect.Float64:
		number, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return shown + " is not a number; write a number such as 0.5"
		}
		target.SetFloat(number)
	default:
		return "cannot be set"
	}
	return ""
}

// truths are the words of YAML for a truth value.
func truths(text string) (truth, known bool) {
	switch text {
	case "true", "yes", "on", "1":
		return true, true
	case "false", "no", "off", "0":
		return false, true
	default:
		return false, false
	}
}

// whole reads 20000, 20_000, 0x10 and 2e4.
func whole(text string) (int64, bool) {
	if number, err := strconv.ParseInt(text, 0, 64); err == nil {
		return number, true
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || number != math.Trunc(number) || math.Abs(number) > 1<<53 {
		return 0, false
	}
	return int64(number), true
}

var amount = regexp.MustCompile(`^\s*(\d+)\s*([A-Za-z]*)\s*$`)

// durationFor is the duration that was probably meant, or an example.
func durationFor(text string) string {
	parts := amount.FindStringSubmatch(text)
	if parts == nil {
		return "a number with a unit, such as 30s, 5m or 72h"
	}
	number, err := strconv.Atoi(parts[1])
	if err != nil {
		return "a smaller one, such as 72h"
	}
	switch strings.ToLower(parts[2]) {
	case "d", "day", "days":
		return strconv.Itoa(24*number) + "h"
	case "w", "week", "weeks":
		return strconv.Itoa(7*24*number) + "h"
	case "hour", "hours", "hr", "hrs":
		return parts[1] + "h"
	case "min", "mins", "minute", "minutes":
		return parts[1] + "m"
	case "", "sec", "secs", "second", "seconds":
		return parts[1] + "s"
	default:
		return "a number with a unit, such as 30s, 5m or 72h"
	}
}

// numberFor is the number that was probably meant: the bytes of 64MiB; or an example.
func numberFor(text string) string {
	parts := amount.FindStringSubmatch(text)
	if parts == nil {
		return "a whole number such as 20"
	}
	shift := map[string]int{"k": 10, "kb": 10, "ki": 10, "kib": 10, "m": 20, "mb": 20, "mi": 20, "mib": 20, "g": 30, "gb": 30, "gi": 30, "gib": 30}
	bits, known := shift[strings.ToLower(parts[2])]
	number, err := strconv.ParseInt(parts[1], 10, 32)
	if !known || err != nil {
		return "a whole number such as 20"
	}
	return strconv.FormatInt(number<<bits, 10)
}

// example is a value of a type.
func example(t reflect.Type) string {
	switch {
	case isDuration(t):
		return "30s"
	case t.Kind() == reflect.Bool:
		return "true"
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		return "0.5"
	case t.Kind() == reflect.Struct:
		if keys := Keys(t); len(keys) > 0 {
			return "{" + keys[0].Name + ": …}"
		}
		return "{…}"
	case t.Kind() == reflect.String:
		return "text"
	default:
		return "20"
	}
}
