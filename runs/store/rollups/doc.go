// Package rollups stores what is counted of actions that ended: how tasks did by day and do now, and what runs, tasks, owners and labels
// used. Lists and sums read it in place of the actions, so that they cost the same at any number of them.
package rollups
