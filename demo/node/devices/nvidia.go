package devices

import (
	"context"
	"encoding/csv"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// smi is NVIDIA's tool.
const smi = "nvidia-smi"

// query asks the tool for fields, and returns a line for each GPU.
func query(ctx context.Context, run Run, fields ...string) ([][]string, error) {
	out, err := run(ctx, smi, "--query-gpu="+strings.Join(fields, ","), "--format=csv,noheader,nounits")
	if err != nil {
		return nil, err
	}
	reader := csv.NewReader(strings.NewReader(out))
	reader.TrimLeadingSpace, reader.FieldsPerRecord = true, len(fields)
	lines, err := reader.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: read its answer: %w", smi, err)
	}
	return lines, nil
}

// findNVIDIA lists GPUs, and the partitions of those that are divided: a divided one cannot be used whole.
func findNVIDIA(ctx context.Context, run Run) ([]Device, error) {
	lines, err := query(ctx, run, "index", "uuid", "name", "memory.total", "mig.mode.current")
	if err != nil {
		return nil, err
	}
	var all []Device
	var parts map[int][]Device
	for _, line := range lines {
		index, err := strconv.Atoi(line[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not the index of a GPU", smi, line[0])
		}
		d := Device{ID: line[1], Maker: NVIDIA, Index: index, Model: line[2], Bytes: mebibytes(line[3])}
		if !strings.EqualFold(line[4], "Enabled") {
			all = append(all, d)
			continue
		}
		if parts == nil {
			out, err := run(ctx, smi, "-L")
			if err != nil {
				return nil, err
			}
			parts = partitions(out)
		}
		for _, part := range parts[index] {
			part.Model = d.Model
			all = append(all, part)
		}
	}
	return all, nil
}

var (
	gpuLine  = regexp.MustCompile(`^GPU (\d+): `)
	partLine = regexp.MustCompile(`^\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (\S+)\)`)
	partSize = regexp.MustCompile(`\.(\d+)gb`)
)

// partitions reads the list of GPUs with their partitions, by the GPUs' indexes.
func partitions(list string) map[int][]Device {
	parts, index := map[int][]Device{}, 0
	for line := range strings.Lines(list) {
		if found := gpuLine.FindStringSubmatch(line); found != nil {
			index, _ = strconv.Atoi(found[1])
			continue
		}
		found := partLine.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		d := Device{ID: found[2], Maker: NVIDIA, Index: index, Partition: found[1]}
		if size := partSize.FindStringSubmatch(found[1]); size != nil {
			number, _ := strconv.ParseInt(size[1], 10, 32)
			d.Bytes = number << 30
		}
		parts[index] = append(parts[index], d)
	}
	return parts
}

// measureNVIDIA adds how busy GPUs are. The tool does not tell it of partitions.
func measureNVIDIA(ctx context.Context, run Run, all map[string]Use) {
	lines, err := query(ctx, run, "uuid", "utilization.gpu", "memory.used")
	if err != nil {
		return
	}
	for _, line := range lines {
		use := Use{Percent: -1, Bytes: -1}
		if percent, err := strconv.Atoi(line[1]); err == nil {
			use.Percent = percent
		}
		if _, err := strconv.Atoi(line[2]); err == nil {
			use.Bytes = mebibytes(line[2])
		}
		all[line[0]] = use
	}
}

// mebibytes reads an amount of memory; 0 for [N/A], as GPUs have that share the memory of the machine.
func mebibytes(text string) int64 {
	number, err := strconv.ParseInt(text, 10, 43)
	if err != nil {
		return 0
	}
	return number << 20
}
