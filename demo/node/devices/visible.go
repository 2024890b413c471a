package devices

import (
	"slices"
	"strconv"
	"strings"
)

// Visible are the devices that the variables of this process leave: who starts a demo on a shared machine chooses its GPUs this way,
// as for any program. lookup is os.LookupEnv.
func Visible(all []Device, lookup func(string) (string, bool)) []Device {
	for _, maker := range Makers() {
		value, set := lookup(maker.Variable())
		if !set {
			continue
		}
		var chosen []Device
		for word := range strings.SplitSeq(value, ",") {
			found := match(all, maker, strings.TrimSpace(word))
			if len(found) == 0 {
				break // as the runtimes do: an unknown word ends the list
			}
			chosen = append(chosen, found...)
		}
		all = slices.DeleteFunc(slices.Clone(all), func(d Device) bool {
			return d.Maker == maker && !slices.ContainsFunc(chosen, func(one Device) bool { return one.ID == d.ID })
		})
	}
	return all
}

// match are the devices of a word: an index, or the beginning of an ID.
func match(all []Device, maker Maker, word string) (found []Device) {
	index, err := strconv.Atoi(word)
	for _, d := range all {
		if d.Maker == maker && word != "" && (err == nil && d.Index == index || err != nil && strings.HasPrefix(d.ID, word)) {
			found = append(found, d)
		}
	}
	return found
}
