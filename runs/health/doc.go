// Package health answers how tasks do over many runs, and what the cache does for them: TaskHealthService and CacheInsightService. What
// it reads is counted by runs/rollup.
package health
