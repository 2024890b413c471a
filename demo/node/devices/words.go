package devices

import (
	"fmt"
	"slices"
	"strings"
)

// Inventory lists devices in words, such as "2 NVIDIA H200 and 1 NVIDIA A100 1g.5gb"; "none" if there are none.
func Inventory(all []Device) string {
	var names []string
	counts := map[string]int{}
	for _, d := range all {
		if counts[d.String()]++; counts[d.String()] == 1 {
			names = append(names, d.String())
		}
	}
	words := make([]string, 0, len(names))
	for _, name := range names {
		words = append(words, fmt.Sprintf("%d %s", counts[name], name))
	}
	switch len(words) {
	case 0:
		return "none"
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Never explains a wish that the machine cannot fulfil even when no device is held.
func (t *Table) Never(w Wish) string {
	wanted := fmt.Sprintf("%d GPUs", w.Count)
	if w.Count == 1 {
		wanted = "1 GPU"
	}
	if w.Accelerator != "" {
		wanted = fmt.Sprintf("%d %s", w.Count, w.Accelerator)
	}
	if w.Partition != "" {
		wanted += " " + w.Partition
	}
	if w.Whole {
		wanted += ", not divided,"
	}
	own := slices.DeleteFunc(slices.Clone(t.all), func(d Device) bool { return d.Maker != w.Maker })
	if len(own) == 0 {
		return fmt.Sprintf("The pod asks for %s (%s), which this machine does not have, so it will never start here.", wanted, w.Maker.Resource())
	}
	return fmt.Sprintf("The pod asks for %s and this machine has %s, so it will never start here.", wanted, Inventory(own))
}

// Busy says in words how busy a device is, which may be unknown.
func (d Device) Busy(use Use, known bool) string {
	var words []string
	if known && use.Percent >= 0 {
		words = append(words, fmt.Sprintf("%d %% busy", use.Percent))
	}
	if known && use.Bytes >= 0 {
		words = append(words, fmt.Sprintf("%.1f of %s in use", float64(use.Bytes)/(1<<30), d.Size()))
	} else {
		words = append(words, d.Size())
	}
	return strings.Join(words, ", ")
}
