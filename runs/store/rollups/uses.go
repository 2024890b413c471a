package rollups

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Kind says what a name in a UseDay is of.
type Kind int16

// The kinds.
const (
	OfPlace Kind = 0 // everything, without a name
	OfTask  Kind = 1
	OfOwner Kind = 2
	OfLabel Kind = 3 // key=value of the run
)

// The kinds as literals, which the planner needs for partial indexes.
const (
	placeKind = string(rune('0' + OfPlace))
	taskKind  = string(rune('0' + OfTask))
)

// MaxNames is how many names of a kind a place has on a day; what further ones use counts under Others. It bounds what sums read.
const MaxNames = 1000

// Others is the name of those beyond MaxNames. No task, owner or label has this name.
const Others = "…"

// UseDay is what was used on a day under a name.
type UseDay struct {
	schema.Scope
	Day      time.Time
	Kind     Kind
	Name     string
	Rate     Rate
	Actions  int32
	Use      Use
	Measured Measured
}

// saveUses adds to what was used.
func saveUses(ctx context.Context, tx pgx.Tx, uses []UseDay, rates map[Rate]int32) error {
	if err := bound(ctx, tx, uses); err != nil {
		return err
	}
	// Names that became Others are the same row several times, which one statement cannot change twice.
	type key struct {
		scope schema.Scope
		day   int64
		kind  Kind
		name  string
		rate  Rate
	}
	at := make(map[key]int, len(uses))
	var summed []UseDay
	for _, u := range uses {
		k := key{u.Scope, u.Day.Unix(), u.Kind, u.Name, u.Rate}
		if i, ok := at[k]; ok {
			summed[i].Actions, summed[i].Use = summed[i].Actions+u.Actions, summed[i].Use.Plus(u.Use)
			summed[i].Measured = summed[i].Measured.Plus(u.Measured)
			continue
		}
		at[k] = len(summed)
		summed = append(summed, u)
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO use_days AS had (project, domain, day, kind, name, rate, actions, cpu, memory, gpu, `+measuredColumns+`)
		SELECT * FROM unnest($1::text[], $2::text[], $3::date[], $4::smallint[], $5::text[], $6::integer[], $7::integer[], $8::bigint[], $9::bigint[], $10::bigint[],
			$11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[])
		ON CONFLICT (project, domain, kind, day, name, rate) DO UPDATE SET actions = had.actions + EXCLUDED.actions,
			cpu = had.cpu + EXCLUDED.cpu, memory = had.memory + EXCLUDED.memory, gpu = had.gpu + EXCLUDED.gpu,
			used_cpu = had.used_cpu + EXCLUDED.used_cpu, used_cpu_of = had.used_cpu_of + EXCLUDED.used_cpu_of,
			used_memory = had.used_memory + EXCLUDED.used_memory, used_memory_of = had.used_memory_of + EXCLUDED.used_memory_of`,
		sqltext.Column(summed, func(u UseDay) string { return u.Project }), sqltext.Column(summed, func(u UseDay) string { return u.Domain }),
		sqltext.Column(summed, func(u UseDay) time.Time { return u.Day }), sqltext.Column(summed, func(u UseDay) int16 { return int16(u.Kind) }),
		sqltext.Column(summed, func(u UseDay) string { return u.Name }), sqltext.Column(summed, func(u UseDay) int32 { return rates[u.Rate] }),
		sqltext.Column(summed, func(u UseDay) int32 { return u.Actions }), sqltext.Column(summed, func(u UseDay) int64 { return u.Use.CPU }),
		sqltext.Column(summed, func(u UseDay) int64 { return u.Use.Memory }), sqltext.Column(summed, func(u UseDay) int64 { return u.Use.GPU }),
		sqltext.Column(summed, func(u UseDay) int64 { return u.Measured.CPU.Used }), sqltext.Column(summed, func(u UseDay) int64 { return u.Measured.CPU.Of }),
		sqltext.Column(summed, func(u UseDay) int64 { return u.Measured.Memory.Used }), sqltext.Column(summed, func(u UseDay) int64 { return u.Measured.Memory.Of }))
	return err
}

// bound renames what is beyond MaxNames.
func bound(ctx context.Context, tx pgx.Tx, uses []UseDay) error {
	type dayOf struct {
		scope schema.Scope
		day   int64
	}
	names := map[dayOf]map[Kind]map[string]bool{}
	for i := range uses {
		u := &uses[i]
		if u.Kind == OfPlace {
			continue
		}
		d := dayOf{u.Scope, u.Day.Unix()}
		if names[d] == nil {
			names[d] = map[Kind]map[string]bool{OfTask: {}, OfOwner: {}, OfLabel: {}}
			rows, err := tx.Query(ctx, `SELECT DISTINCT kind, name FROM use_days WHERE project = $1 AND domain = $2 AND day = $3 AND kind = ANY('{1,2,3}')`, u.Project, u.Domain, u.Day)
			if err != nil {
				return err
			}
			var kind Kind
			var name string
			if _, err := pgx.ForEachRow(rows, []any{&kind, &name}, func() error {
				names[d][kind][name] = true
				return nil
			}); err != nil {
				return err
			}
		}
		known := names[d][u.Kind]
		if !known[u.Name] && len(known) >= MaxNames {
			u.Name = Others
			continue
		}
		known[u.Name] = true
	}
	return nil
}
