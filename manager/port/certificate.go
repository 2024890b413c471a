package port

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// lookEvery is how often the files of the certificate are looked at, while there are connections.
const lookEvery = 10 * time.Second

// certificate is the one of the port. It follows its files: tools that renew certificates replace these.
type certificate struct {
	config configuration.TLSConfig
	clock  clock.Clock
	log    zerolog.Logger

	mu      sync.Mutex
	current *tls.Certificate // GUARDED_BY(mu)
	version [2]time.Time     // GUARDED_BY(mu): when the files were last changed
	looked  time.Time        // GUARDED_BY(mu)
}

// newCertificate reads the files.
func newCertificate(config configuration.TLSConfig, clk clock.Clock, log zerolog.Logger) (*certificate, error) {
	c := &certificate{config: config, clock: clk, log: log, looked: clk.Now()}
	version, err := c.modified()
	if err == nil {
		err = c.read(version)
	}
	if err != nil {
		return nil, fmt.Errorf("server.tls: %w", err)
	}
	return c, nil
}

// get is tls.Config.GetCertificate. While the files cannot be read, the last certificate serves.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.clock.Now(); now.Sub(c.looked) >= lookEvery {
		c.looked = now
		version, err := c.modified()
		if err == nil && version != c.version {
			err = c.read(version)
		}
		if err != nil {
			c.log.Error().Err(err).Str("certFile", c.config.CertFile).Msg("cannot read the certificate of the port; the last one serves")
		}
	}
	return c.current, nil
}

func (c *certificate) read(version [2]time.Time) error {
	read, err := tls.LoadX509KeyPair(c.config.CertFile, c.config.KeyFile)
	if err != nil {
		return fmt.Errorf("the certificate %s with the key %s: %w", c.config.CertFile, c.config.KeyFile, err)
	}
	if c.current != nil {
		c.log.Info().Str("certFile", c.config.CertFile).Time("expires", read.Leaf.NotAfter).Msg("the certificate of the port has been replaced")
	}
	c.current, c.version = &read, version
	return nil
}

func (c *certificate) modified() (version [2]time.Time, err error) {
	for i, name := range []string{c.config.CertFile, c.config.KeyFile} {
		about, err := os.Stat(name)
		if err != nil {
			return version, err //nolint:wrapcheck // its text names the file
		}
		version[i] = about.ModTime()
	}
	return version, nil
}
