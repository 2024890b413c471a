package rollup

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"
)

// steps is how many buckets a doubling of the duration has. A quantile is off by at most half a bucket, 4.4 %.
const steps = 8

// durations counts durations by bucket. Bucket 0 has those below a millisecond, bucket n those from 2^((n-1)/steps) ms.
type durations map[uint64]uint64

func (d durations) add(one time.Duration) { d[bucketOf(one)]++ }

func bucketOf(one time.Duration) uint64 {
	ms := float64(one) / float64(time.Millisecond)
	if ms < 1 {
		return 0
	}
	return 1 + uint64(math.Log2(ms)*steps)
}

// merge adds another histogram.
func (d durations) merge(other durations) {
	for bucket, count := range other {
		d[bucket] += count
	}
}

// quantile is a duration in milliseconds that is as long as a share of all; false if there are none. It is the middle of the bucket that has it.
func (d durations) quantile(share float64) (ms int64, ok bool) {
	total := d.total()
	if total == 0 {
		return 0, false
	}
	rank := uint64(math.Ceil(share * float64(total)))
	for _, bucket := range d.buckets() {
		if count := d[bucket]; count < rank {
			rank -= count
			continue
		}
		if bucket == 0 {
			return 0, true
		}
		return int64(math.Round(math.Exp2((float64(bucket) - 0.5) / steps))), true
	}
	return 0, false
}

func (d durations) buckets() []uint64 {
	buckets := make([]uint64, 0, len(d))
	for bucket := range d {
		buckets = append(buckets, bucket)
	}
	slices.Sort(buckets)
	return buckets
}

// encode writes each bucket as its distance from the one before, and its count.
func (d durations) encode() []byte {
	out := []byte{}
	before := uint64(0)
	for _, bucket := range d.buckets() {
		out = binary.AppendUvarint(out, bucket-before)
		out = binary.AppendUvarint(out, d[bucket])
		before = bucket
	}
	return out
}

var errDurations = errors.New("the stored durations cannot be read")

func decodeDurations(body []byte) (durations, error) {
	d := durations{}
	bucket := uint64(0)
	for len(body) > 0 {
		step, n := binary.Uvarint(body)
		if n <= 0 {
			return nil, errDurations
		}
		count, m := binary.Uvarint(body[n:])
		if m <= 0 {
			return nil, errDurations
		}
		bucket += step
		d[bucket] += count
		body = body[n+m:]
	}
	return d, nil
}

func (d durations) total() (sum uint64) {
	for _, count := range d {
		sum += count
	}
	return sum
}
