// Package bundle collects what an engineer asks for when an installation does not work: one archive with the state of a
// server, its database and its configuration, without secrets. It builds on manager, and each part works while others are
// down.
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// Options say what to collect.
type Options struct {
	Config configuration.Config
	// Version is that of the program that collects.
	Version string
	// URL is the running server; empty means Config.Server.Listen on this machine.
	URL string
	// Logs are files whose ends are added; empty means none.
	Logs []string
	// Progress gets a line for each part.
	Progress io.Writer
	Clock    clock.Clock
}

// part is one file of the archive.
type part struct {
	name    string
	collect func(ctx context.Context, w io.Writer) error
}

// partTimeout bounds one part: what does not answer must not keep the others.
const partTimeout = 45 * time.Second

// maxPart bounds one part in memory; more of it is left out.
const maxPart = 32 << 20

// Write collects everything into an archive (tar, gzip). A part that fails has a file with what it got, and one with its
// error; the bundle is complete even so. An error means that the archive could not be written.
func Write(ctx context.Context, options Options, out io.Writer) error {
	compressed := gzip.NewWriter(out)
	archive := &archive{tar: tar.NewWriter(compressed), options: options, hush: newHush(options.Config)}
	server, err := manager.NewRemote(options.Config, options.URL)
	if err != nil {
		return err
	}
	defer server.Close()
	database := newDatabase(options.Config.Database)
	defer database.close()
	for _, one := range append(append(local(options), database.parts()...), remote(options, server)...) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := archive.add(ctx, one); err != nil {
			return err
		}
	}
	return errors.Join(archive.tar.Close(), compressed.Close())
}

type archive struct {
	tar     *tar.Writer
	options Options
	hush    *hush
}

// add collects a part and writes it, and its error alongside it.
func (a *archive) add(ctx context.Context, one part) error {
	ctx, cancel := context.WithTimeout(ctx, partTimeout)
	defer cancel()
	body := &limited{}
	failure := one.collect(ctx, body)
	progress := fmt.Sprintf("%s: %d bytes", one.name, body.Len())
	if failure != nil {
		text := a.hush.text([]byte(failure.Error()))
		progress = one.name + ": " + string(text)
		if err := a.file(one.name+".error.txt", append(text, '\n')); err != nil {
			return err
		}
	}
	fmt.Fprintln(a.options.Progress, progress)
	if body.Len() == 0 && failure != nil {
		return nil
	}
	return a.file(one.name, a.hush.text(body.Bytes()))
}

func (a *archive) file(name string, body []byte) error {
	header := &tar.Header{
		Name: "flyte-support/" + name, Mode: 0o600, Size: int64(len(body)), ModTime: a.options.Clock.Now(), Format: tar.FormatPAX,
	}
	if err := a.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if _, err := a.tar.Write(body); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// limited keeps the first maxPart bytes.
type limited struct{ bytes.Buffer }

// Write implements io.Writer; it accepts what it drops.
func (l *limited) Write(p []byte) (int, error) {
	if room := maxPart - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
