package main

import (
	"context"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/proxy"
)

// strikeLine applies a fault of one of two clusters.
func (i *injector) strikeLine(ctx context.Context, f fault) {
	side := i.stack.Sides[sideOf(f)]
	line := side.Line
	switch f.kind {
	case kindLineCut:
		line.Cut()
	case kindLineAway:
		line.Refuse(true)
		line.Cut()
		sleep(ctx, f.length)
		line.Refuse(false)
	case kindLineFrozen: // what was on its way arrives late, or never
		line.Refuse(true)
		line.Freeze()
		sleep(ctx, f.length)
		line.Refuse(false)
		if f.number > 2 {
			line.Thaw()
		} else {
			line.DropFrozen()
		}
	case kindLineSlow:
		line.Slow(50 * time.Millisecond)
		sleep(ctx, 2*f.length)
		line.Slow(0)
	case kindLineDeaf, kindLineMute:
		direction := proxy.Answers
		if f.kind == kindLineMute {
			direction = proxy.Requests
		}
		line.Hold(direction, true)
		sleep(ctx, f.length)
		line.Hold(direction, false)
	case kindLineForgets:
		line.Forget(true)
		sleep(ctx, f.length)
		line.Forget(false)
	case kindControllerKill:
		i.controllers[sideOf(f)].down(ctx, f.length)
	case kindControllerFreeze:
		freeze(ctx, side.Controller, f.length)
	}
}

// healLines ends every fault of two clusters.
func (i *injector) healLines() {
	for _, side := range i.stack.Sides {
		side.Line.Refuse(false)
		side.Line.Slow(0)
		side.Line.Forget(false)
		side.Line.Hold(proxy.Requests, false)
		side.Line.Hold(proxy.Answers, false)
		side.Line.DropFrozen()
	}
}

// isOfLine reports whether a fault strikes one of two clusters.
func isOfLine(f fault) bool { return slices.Contains(lineKinds(), f.kind) }
