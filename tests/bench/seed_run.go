package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

// seedRun stores a large run in the database of a running server, so that its console can show it. With -url it also
// measures the console's requests. The rows are synthetic, so use it on throw-away installations only.
func seedRun(ctx context.Context, args []string, out, progress io.Writer) error {
	c := storetest.DefaultShown()
	flags := flag.NewFlagSet("bench seed-run", flag.ContinueOnError)
	flags.SetOutput(progress)
	database := flags.String("database-url", "", "the server's database")
	demo := flags.String("demo", "", "data directory of a running demo, instead of -database-url")
	server := flags.String("url", "", "URL of the server, to measure the console's requests and to print the page's address")
	samples := flags.Int("samples", 20, "samples of each request")
	only := flags.Bool("only-measure", false, "measure only; the run exists already")
	flags.StringVar(&c.Project, "project", c.Project, "the run's project")
	flags.StringVar(&c.Domain, "domain", c.Domain, "the run's domain")
	flags.StringVar(&c.Name, "name", c.Name, "the run's name")
	flags.IntVar(&c.Actions, "actions", c.Actions, "how many actions it has")
	flags.Float64Var(&c.Unfinished, "unfinished", c.Unfinished, "share of actions that are live; 0 for a terminal run")
	flags.Float64Var(&c.Failed, "failed", c.Failed, "share of failed actions")
	flags.Uint64Var(&c.Seed, "seed", c.Seed, "seed of the generated run")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *demo != "" {
		*database = demoDatabase(*demo)
	}
	if !*only {
		if *database == "" {
			return errors.New("one of -database-url and -demo is required")
		}
		c.Now = time.Now()
		if err := show(ctx, *database, c, out); err != nil {
			return err
		}
	}
	if *server == "" {
		return nil
	}
	address := strings.TrimSuffix(*server, "/")
	result := figures.Result{Case: "console", About: fmt.Sprintf("what the console asks about %s", c.Name)}
	if err := askAsConsole(ctx, address, ident.Run{Project: c.Project, Domain: c.Domain, Name: c.Name}, *samples, &result); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s/v2/domain/%s/project/%s/runs/%s\n", address, c.Domain, c.Project, c.Name)
	result.PrintRows(out)
	return nil
}

func show(ctx context.Context, database string, c storetest.Shown, out io.Writer) error {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return fmt.Errorf("database-url: %w", err)
	}
	defer pool.Close()
	began := time.Now()
	if err := storetest.Show(ctx, pool, c); err != nil {
		return err
	}
	fmt.Fprintf(out, "run %s of %s/%s has %d actions, stored in %s\n", c.Name, c.Project, c.Domain, c.Actions, time.Since(began).Round(time.Millisecond))
	return nil
}

// demoDatabase is the address of the database below the directory of a demo.
func demoDatabase(dir string) string {
	query := url.Values{"host": {filepath.Join(dir, "postgres", "socket")}, "port": {"5432"}}
	user := url.User(pgembed.User)
	// If the demo keeps its data or runs as root, Postgres has a password, stored next to the data.
	if password, err := os.ReadFile(filepath.Join(dir, "postgres", "flyte-password")); err == nil {
		user = url.UserPassword(pgembed.User, strings.TrimSpace(string(password)))
	}
	return (&url.URL{Scheme: "postgres", User: user, Path: "/" + pgembed.Database, RawQuery: query.Encode()}).String()
}
