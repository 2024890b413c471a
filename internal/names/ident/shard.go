package ident

import (
	"crypto/sha256"
	"strings"
)

const (
	// Shards is into how many shards the runs of a cluster are divided when several replicas share them. Objects in the
	// cluster are labelled with their shard, so the number is the same forever.
	Shards = 16
	// AllShards represents all of them, where one process has no others to share with.
	AllShards = -1
	// shardTrim is what the values of Kubernetes labels must not end with. Without it, the shard of an object follows from
	// its labels, too.
	shardTrim = "-._"
)

// Shard is the shard of the run and of all its actions. runs/store computes the same in SQL.
func (r Run) Shard() int {
	name := strings.Join([]string{
		strings.TrimRight(r.Project, shardTrim), strings.TrimRight(r.Domain, shardTrim), strings.TrimRight(r.Name, shardTrim),
	}, "/")
	return int(sha256.Sum256([]byte(name))[0]) % Shards
}

// In reports whether the run is of a shard, or whether all are meant.
func (r Run) In(shard int) bool { return shard == AllShards || r.Shard() == shard }
