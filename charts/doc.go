// Package charts has no code: its tests render the chart with the real helm, check what comes out, and install it into a real
// API server.
package charts
