package sqltext

// Specs are shared by all rows that refer to them, and stored once. A transaction that stores a spec, or a row that
// refers to one, holds keepSpecs until it ends; the sweep holds dropSpecs, so that no spec vanishes in between. A
// cache of stored digests is valid for one generation of spec_sweeps, read under the lock.
const (
	KeepSpecs      = `SELECT pg_advisory_xact_lock_shared(7421850001)`
	DropSpecs      = `SELECT pg_advisory_xact_lock(7421850001)`
	SpecGeneration = `SELECT generation FROM spec_sweeps WHERE only_one`
)
