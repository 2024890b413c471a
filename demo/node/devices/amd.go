package devices

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// rocm is AMD's tool.
const rocm = "rocm-smi"

// cards asks the tool for everything about GPUs, by index.
func cards(ctx context.Context, run Run) (map[int]map[string]string, error) {
	out, err := run(ctx, rocm, "--showproductname", "--showuniqueid", "--showmeminfo", "vram", "--showuse", "--json")
	if err != nil {
		return nil, err
	}
	// Warnings come first, such as that a GPU saves power.
	if begin := strings.IndexByte(out, '{'); begin >= 0 {
		out = out[begin:]
	}
	var raw map[string]map[string]any
	if err := json.Unmarshal([]byte(out), &raw); err != nil {
		return nil, fmt.Errorf("%s: read its answer: %w", rocm, err)
	}
	found := map[int]map[string]string{}
	for name, fields := range raw {
		index, err := strconv.Atoi(strings.TrimPrefix(name, "card"))
		if err != nil {
			continue // the machine as a whole
		}
		card := map[string]string{}
		for key, value := range fields {
			card[strings.ToLower(key)] = fmt.Sprint(value) // versions differ in case
		}
		found[index] = card
	}
	return found, nil
}

func findAMD(ctx context.Context, run Run) ([]Device, error) {
	found, err := cards(ctx, run)
	if err != nil {
		return nil, err
	}
	var all []Device
	for _, index := range slices.Sorted(maps.Keys(found)) {
		card := found[index]
		d := Device{ID: rocrID(card, index), Maker: AMD, Index: index, Model: card["card series"]}
		if d.Model == "" {
			d.Model = card["card model"]
		}
		d.Bytes, _ = strconv.ParseInt(card["vram total memory (b)"], 10, 64)
		all = append(all, d)
	}
	return all, nil
}

// rocrID is what the variable of AMD's runtime names a GPU by: GPU- and its number in 16 hexadecimal digits. Cards for consumers
// have no number and are named by their index.
func rocrID(card map[string]string, index int) string {
	digits, ok := strings.CutPrefix(strings.ToLower(card["unique id"]), "0x")
	if !ok || len(digits) > 16 || strings.Trim(digits, "0123456789abcdef") != "" || strings.Trim(digits, "0") == "" {
		return strconv.Itoa(index)
	}
	return "GPU-" + strings.Repeat("0", 16-len(digits)) + digits
}

func measureAMD(ctx context.Context, run Run, all map[string]Use) {
	found, err := cards(ctx, run)
	if err != nil {
		return
	}
	for index, card := range found {
		use := Use{Percent: -1, Bytes: -1}
		if percent, err := strconv.Atoi(card["gpu use (%)"]); err == nil {
			use.Percent = percent
		}
		if used, err := strconv.ParseInt(card["vram total used memory (b)"], 10, 64); err == nil {
			use.Bytes = used
		}
		all[rocrID(card, index)] = use
	}
}
