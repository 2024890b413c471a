package mcp

// Config configures what agents can use.
type Config struct {
	// Enabled serves the Model Context Protocol at /mcp, with tools that read. Defaults to true.
	Enabled bool `config:"enabled"`
	// Changes serves the tools that change something too, at /mcp/changes. A caller needs the same permissions as for the calls
	// of the API behind them. Defaults to true.
	Changes bool `config:"changes"`
}

// DefaultConfig returns the default configuration.
func DefaultConfig() Config { return Config{Enabled: true, Changes: true} }

// Validate implements the configuration's check. Every value is valid.
func (Config) Validate() error { return nil }
