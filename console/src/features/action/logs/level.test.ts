import { expect, it } from "vitest";
import { Level, levelOf } from "./level";

it.each([
  ["2026-01-01 00:00:00,000 - root - ERROR - boom", Level.Error],
  ["[WARNING] careful", Level.Warning],
  ["INFO:app:started", Level.Info],
  ['{"time": 1, "level": "warn", "msg": "x"}', Level.Warning],
  ["ts=1 level=error msg=x", Level.Error],
  ["E0102 10:11:12.000 1 x.go:1] bad", Level.Error],
  ["Traceback (most recent call last):", Level.Error],
  ["ValueError: no", Level.Error],
  ["my.errors.Error: no", Level.Error],
  ["there was no error", Level.None],
  ["INFORMATION", Level.None],
  ["DEBUG | x", Level.Debug],
])("%s", (text, level) => expect(levelOf(text)).toBe(level));
