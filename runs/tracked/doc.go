// Package tracked serves TrackedRunService: runs that another process executes and only reports here. It stores them with
// runs/store in tables of their own, and shows them with runs/read, runs/watch and runs/insight. Nothing in it admits,
// assigns or times out an action; only a client that is silent for too long has its run ended.
package tracked
