package usage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// MaxPoints is how many points a curve has at most. When there are more, neighbours are joined.
const MaxPoints = 240

// The resources of a curve, in the order of its columns.
const (
	CPU       = iota // thousandths of a core, on average since the point before
	Memory           // bytes, the most since the point before, as all that follow
	Disk             // bytes
	GPU              // percent, summed over the GPUs
	GPUMemory        // bytes
	resources
)

// units are what one step of a column means. Peaks are kept exactly elsewhere.
var units = [resources]uint64{5, 256 << 10, 1 << 20, 1, 1 << 20}

// Amounts are amounts of each resource. Those that are not known are unset.
type Amounts [resources]Amount

// Amount is a number, or unset.
type Amount struct {
	Value uint64
	Known bool
}

// Of is an amount that is known.
func Of(value uint64) Amount { return Amount{Value: value, Known: true} }

// Max is the larger of two amounts; one that is unset is smaller than any.
func (a Amount) Max(b Amount) Amount {
	if !a.Known || (b.Known && b.Value > a.Value) {
		return b
	}
	return a
}

// Max has the larger amount of each resource.
func (a Amounts) Max(b Amounts) Amounts {
	for i := range a {
		a[i] = a[i].Max(b[i])
	}
	return a
}

// Point is what an attempt used in an interval that ends at a time.
type Point struct {
	At   time.Time
	Used Amounts
}

// Append adds a point, which must be newer than the last one. When a curve is full, its finest parts become coarser first.
func Append(points []Point, next Point) []Point {
	if len(points) >= MaxPoints {
		points = coarser(points)
	}
	return append(points, next)
}

// coarseGroups bounds how many points coarser leaves: less than twice as many.
const coarseGroups = 100

// coarser joins neighbours whose intervals together are short compared with the whole curve. A curve that is already coarse at its
// beginning becomes coarse at its end, so that its resolution is the same everywhere.
func coarser(points []Point) []Point {
	step := points[len(points)-1].At.Sub(points[0].At) / coarseGroups
	joined := make([]Point, 0, MaxPoints)
	joined = append(joined, points[0])
	begins := points[0].At // of the interval of the last joined point
	for i := 1; i < len(points); i++ {
		last := &joined[len(joined)-1]
		if len(joined) > 1 && points[i].At.Sub(begins) <= step {
			*last = merge(begins, *last, points[i])
			continue
		}
		begins = last.At
		joined = append(joined, points[i])
	}
	return joined
}

// merge joins two points: processors by the lengths of their intervals, and the larger of the rest. before is where the first
// interval begins.
func merge(before time.Time, a, b Point) Point {
	joined := Point{At: b.At, Used: a.Used.Max(b.Used)}
	first, second := a.Used[CPU], b.Used[CPU]
	if x, y := a.At.Sub(before).Seconds(), b.At.Sub(a.At).Seconds(); first.Known && second.Known && x+y > 0 {
		joined.Used[CPU] = Of(uint64((float64(first.Value)*x+float64(second.Value)*y)/(x+y) + 0.5))
	}
	return joined
}

// version is the first byte of an encoded curve.
const version = 1

// Encode packs a curve: a few bytes a point, as differences from the point before. Times are kept to the second, amounts to units.
func Encode(points []Point) []byte {
	out := []byte{version}
	if len(points) == 0 {
		return out
	}
	at := points[0].At.Unix()
	out = binary.AppendVarint(out, at)
	var last [resources]int64
	var known byte // of the point before
	for _, point := range points {
		var now byte
		for i, amount := range point.Used {
			if amount.Known {
				now |= 1 << i
			}
		}
		// The lowest bit says that another set of resources follows, which is rare.
		step := max(0, point.At.Unix()-at) << 1
		if now != known {
			step |= 1
		}
		out = binary.AppendUvarint(out, uint64(step))
		if now != known {
			out = append(out, now)
		}
		for i, amount := range point.Used {
			if amount.Known {
				value := int64((amount.Value + units[i]/2) / units[i]) //nolint:gosec // bytes of machines
				out = binary.AppendVarint(out, value-last[i])
				last[i] = value
			}
		}
		at, known = max(at, point.At.Unix()), now
	}
	return out
}

var errCut = errors.New("it is cut off")

// Decode unpacks a curve.
func Decode(raw []byte) ([]Point, error) {
	points, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("read a curve: %w", err)
	}
	return points, nil
}

func decode(raw []byte) ([]Point, error) {
	switch {
	case len(raw) == 0:
		return nil, errCut
	case raw[0] != version:
		return nil, fmt.Errorf("its version %d is not known", raw[0])
	case len(raw) == 1:
		return nil, nil
	}
	r := reader{rest: raw[1:]}
	at := r.varint()
	var last [resources]int64
	var known byte
	var points []Point
	for r.err == nil && len(r.rest) > 0 {
		step := r.uvarint()
		if step&1 == 1 {
			known = r.one()
		}
		at += int64(step >> 1)
		point := Point{At: time.Unix(at, 0).UTC()}
		for i := range point.Used {
			if known&(1<<i) != 0 {
				last[i] += r.varint()
				point.Used[i] = Of(uint64(max(0, last[i])) * units[i])
			}
		}
		points = append(points, point)
	}
	if r.err != nil {
		return nil, r.err
	}
	return points, nil
}

// reader reads numbers until one is cut off.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) varint() int64 {
	value, n := binary.Varint(r.rest)
	r.skip(n)
	return value
}

func (r *reader) uvarint() uint64 {
	value, n := binary.Uvarint(r.rest)
	r.skip(n)
	return value
}

func (r *reader) one() byte {
	if len(r.rest) == 0 {
		r.err = errCut
		return 0
	}
	value := r.rest[0]
	r.rest = r.rest[1:]
	return value
}

func (r *reader) skip(n int) {
	if n <= 0 {
		r.err, r.rest = errCut, nil
		return
	}
	r.rest = r.rest[n:]
}
