package figures

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// Report is everything that was measured.
type Report struct {
	Machine Machine  `json:"machine"`
	Cases   []Result `json:"cases"`
}

// Result is one case.
type Result struct {
	Case    string  `json:"case"`
	About   string  `json:"about"`
	Seconds float64 `json:"seconds"`
	// OthersCores is how much of the machine processes outside the measurement took meanwhile, in cores.
	OthersCores float64   `json:"othersCores"`
	Measures    []Measure `json:"measures"`
	Error       string    `json:"error,omitempty"`
	// Progress gets each figure as it is recorded; nil for none. A case of half an hour that is stopped has said something then.
	Progress io.Writer `json:"-"`
}

// Measure is one figure.
type Measure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Budget is the limit that the design sets; empty where it sets none.
	Budget string `json:"budget,omitempty"`
}

// Add records a figure.
func (r *Result) Add(name string, value float64, unit string) {
	r.Measures = append(r.Measures, Measure{Name: name, Value: value, Unit: unit, Budget: budgetOf(r.Case, name)})
	if r.Progress != nil {
		fmt.Fprintf(r.Progress, "  %s: %.4g %s\n", name, value, unit)
	}
}

// Latency records percentiles of latencies, in milliseconds.
func (r *Result) Latency(name string, taken []time.Duration) {
	if len(taken) == 0 {
		return
	}
	for _, p := range []int{50, 95, 99} {
		r.Add(fmt.Sprintf("%s p%d", name, p), Milliseconds(Percentile(taken, p)), "ms")
	}
}

// Percentile takes the nearest rank: with 100 samples p99 is the 99th of them. It sorts the samples in place; there
// must be at least one.
func Percentile(taken []time.Duration, p int) time.Duration {
	slices.Sort(taken)
	return taken[int(math.Ceil(float64(len(taken))*float64(p)/100))-1]
}

// Milliseconds keeps fractions, which time.Duration.Milliseconds drops.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Err returns which cases failed.
func (r Report) Err() error {
	var failures []error
	for _, c := range r.Cases {
		if c.Error != "" {
			failures = append(failures, fmt.Errorf("%s: %s", c.Case, c.Error))
		}
	}
	return errors.Join(failures...)
}

// Write writes the report as JSON, for comparisons of two runs.
func (r Report) Write(path string) error {
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(body, '\n'), 0o644)
}

// Print writes the machine, then a table for each case. A case that failed shows what it had measured until then.
func (r Report) Print(out io.Writer) {
	r.Machine.print(out)
	for _, c := range r.Cases {
		fmt.Fprintf(out, "\n%s: %s (%.0f s; others %.2f cores)\n", c.Case, c.About, c.Seconds, c.OthersCores)
		if c.Error != "" {
			fmt.Fprintf(out, "  FAILED: %s\n", c.Error)
		}
		c.PrintRows(out)
	}
}

// PrintRows writes the figures of one case, each with its budget if there is one.
func (r Result) PrintRows(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, m := range r.Measures {
		line := fmt.Sprintf("  %s\t%s\t%s", m.Name, digits(m.Value), m.Unit)
		if m.Budget != "" {
			line += "\tbudget " + m.Budget
		}
		fmt.Fprintln(table, line)
	}
	table.Flush() //nolint:errcheck // a terminal
}

// digits shows three significant digits.
func digits(v float64) string {
	switch {
	case math.Abs(v) >= 100 || v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case math.Abs(v) >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}
